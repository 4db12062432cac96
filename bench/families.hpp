// The families of benchmarks, a file each. Names are
// family/type/shape/threads:N/target.
#pragma once

#include <string>

#include "problem.hpp"

namespace lookback::bench {

void register_prefill();
void register_decode();
void register_short();
void register_roofline();

/// Registers family/<shape>/threads:N/<target> for every N of thread_counts(): each iteration is
/// one of kTurns turns; the time is that of one call.
void register_shape(const std::string& family, const Shape& shape);

/// "/threads:2/avx512"
std::string threads_and_target(int threads);

}  // namespace lookback::bench
