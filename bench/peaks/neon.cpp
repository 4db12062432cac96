#include "vector_loops.hpp"

namespace lookback::bench {
namespace {
struct Neon {
  static constexpr int vector_bytes = 16;
  static constexpr int accumulators = 24;
  static constexpr int tile_keys = 8, tile_vectors = 3;
};
}  // namespace

extern const PeakLoops neon_loops = loops<Neon>("neon");
}  // namespace lookback::bench
