#include "vector_loops.hpp"

namespace lookback::bench {
namespace {
// SSE2: a multiply and an add in place of the FMA, and a register for what is between them.
struct Baseline {
  static constexpr int vector_bytes = 16;
  static constexpr int accumulators = 14;
  static constexpr int tile_keys = 4, tile_vectors = 2;
};
}  // namespace

extern const PeakLoops baseline_loops = loops<Baseline>("baseline");
}  // namespace lookback::bench
