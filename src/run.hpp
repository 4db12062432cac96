// Carries a plan out, on oneTBB: the one place that knows threads.
#pragma once

#include "plan.hpp"
#include "problem.hpp"

namespace lookback {

/// How many threads a call may use here: its limit, or what the caller's arena has.
int available_workers(const Options& options);

template <class T>
void run(const Problem& problem, const Plan& plan, const kernels::Kernels<T>& kernels,
         const Options& options);

}  // namespace lookback
