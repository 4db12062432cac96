// The instruction sets that have kernels; which of them this binary holds is CMake's choice.
#pragma once

#include "kernels/kernel_table.hpp"

namespace lookback::kernels {

// Constants, so that reading them runs no code of an instruction set that may be missing.
extern const KernelTable avx512;
extern const KernelTable avx2;
extern const KernelTable baseline;
extern const KernelTable neon;

}  // namespace lookback::kernels
