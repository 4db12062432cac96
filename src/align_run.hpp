// The second pass of align(): weights again, from the statistics of the first, into views.
#pragma once

#include "kernels/kernel_table.hpp"
#include "lookback/align.hpp"
#include "problem.hpp"
#include "workers.hpp"

namespace lookback {

/// Throws Error (invalid_argument) with one sentence.
void check_views(const Problem& problem, const Views& views, bool has_context);

template <class T>
void run_views(const Problem& problem, const Views& views, const kernels::Kernels<T>& kernels,
               int workers, Progress& progress);

/// Units of work that run_views reports to progress.
double work_of_views(const Problem& problem, const Views& views);

}  // namespace lookback
