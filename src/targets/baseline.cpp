#define LOOKBACK_KERNEL_ISA of_baseline
#include "kernels/chunks.hpp"
#include "targets/targets.hpp"

namespace lookback::kernels {

constinit const KernelTable baseline = make_kernel_table<xsimd::sse2>();

}  // namespace lookback::kernels
