#define LOOKBACK_KERNEL_ISA of_avx2
#include "kernels/chunks.hpp"
#include "targets/targets.hpp"

namespace lookback::kernels {

constinit const KernelTable avx2 = make_kernel_table<xsimd::fma3<xsimd::avx2>>();

}  // namespace lookback::kernels
