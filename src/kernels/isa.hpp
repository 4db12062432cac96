// The namespace that keeps the code of each instruction set apart. Inline functions of one name are
// one function to the linker, and it may take the copy that this machine cannot run.
#pragma once

#ifndef LOOKBACK_KERNEL_ISA
#define LOOKBACK_KERNEL_ISA of_any_isa  // tests of single functions
#endif
