// Which path a call takes when none is forced, in words.
#pragma once

#include <string>

#include "check.hpp"
#include "plan.hpp"
#include "target_table.hpp"

namespace lookback::test {

/// For inputs that are computed in float32.
inline std::string chosen_path(const Tensor& q, const Tensor& k, const Tensor& v,
                               const Outputs& outputs, const Options& options, int threads) {
  const lookback::Problem problem = check(q, k, v, outputs, options);
  const auto& kernels = active_kernels().of<float>();
  const Plan plan = make_plan(problem, kernels, threads);
  std::int64_t few = 0;
  for (std::int64_t b = 0; b < plan.blocks; ++b)
    few += plan.few_rows || (!plan.many_rows && plan.block(b).n_rows <= kernels.few_rows_limit);
  const std::string rows = few == plan.blocks ? "few rows" : few == 0 ? "many rows" : "both";
  return rows + (plan.splits_keys() ? ", split" : "");
}

}  // namespace lookback::test
