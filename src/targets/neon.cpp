#define LOOKBACK_KERNEL_ISA of_neon
#include "kernels/chunks.hpp"
#include "targets/targets.hpp"

namespace lookback::kernels {

constinit const KernelTable neon = make_kernel_table<xsimd::neon64>();

}  // namespace lookback::kernels
