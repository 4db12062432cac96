#include "peak_loops.hpp"

#include <lookback/target.hpp>
#include <stdexcept>
#include <string>

namespace lookback::bench {

// One per file beside this one.
#if defined(__aarch64__)
extern const PeakLoops neon_loops;
static const PeakLoops* const all_loops[] = {&neon_loops};
#else
extern const PeakLoops avx512_loops, avx2_loops, baseline_loops;
static const PeakLoops* const all_loops[] = {&avx512_loops, &avx2_loops, &baseline_loops};
#endif

static bool is_supported(std::string_view name) {
  for (const Target& target : targets()) {
    if (target.name == name) return target.supported;
  }
  return false;
}

const PeakLoops& peak_loops(std::string_view target) {
  for (const PeakLoops* loops : all_loops) {
    if (loops->target == target && is_supported(target)) return *loops;
  }
  throw std::runtime_error("no peak loops for the instruction set " + std::string(target) +
                           " on this machine");
}

}  // namespace lookback::bench
