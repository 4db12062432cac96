// Which instruction sets this binary holds, which this machine runs, which is in use.
#pragma once

#include "kernels/kernel_table.hpp"

namespace lookback {

/// The kernels of the target in use. Throws Error (unsupported_target).
const kernels::KernelTable& active_kernels();

}  // namespace lookback
