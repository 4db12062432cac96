#include "vector_loops.hpp"

namespace lookback::bench {
namespace {
struct Avx512 {
  static constexpr int vector_bytes = 64;
  static constexpr int accumulators = 24;
  static constexpr int tile_keys = 8, tile_vectors = 3;
};
}  // namespace

extern const PeakLoops avx512_loops = loops<Avx512>("avx512");
}  // namespace lookback::bench
