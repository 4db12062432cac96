#define LOOKBACK_KERNEL_ISA of_avx512
#include "kernels/chunks.hpp"
#include "targets/targets.hpp"

namespace lookback::kernels {

constinit const KernelTable avx512 = make_kernel_table<xsimd::avx512bw>();

}  // namespace lookback::kernels
