#include "vector_loops.hpp"

namespace lookback::bench {
namespace {
struct Avx2 {
  static constexpr int vector_bytes = 32;
  static constexpr int accumulators = 12;
  static constexpr int tile_keys = 4, tile_vectors = 3;
};
}  // namespace

extern const PeakLoops avx2_loops = loops<Avx2>("avx2");
}  // namespace lookback::bench
