// The story of a call: check -> plan -> run.
#include "lookback/attend.hpp"

#include "check.hpp"
#include "message.hpp"
#include "plan.hpp"
#include "run.hpp"
#include "target_table.hpp"
#include "workers.hpp"

namespace lookback {
namespace {

template <class T>
void attend_in(const Problem& problem, const Options& options) {
  const kernels::Kernels<T>& kernels = active_kernels().of<T>();
  const Plan plan = make_plan(problem, kernels, available_workers(options));
  run(problem, plan, kernels, options);
}

}  // namespace

void attend(const Tensor& q, const Tensor& k, const Tensor& v, const Outputs& outputs,
            const Options& options) {
  const DefaultFloatingPoint environment;
  const Problem problem = check(q, k, v, outputs, options);
  if (!problem.has_rows()) return;
  try {
    q.type == Type::float64 ? attend_in<double>(problem, options)
                            : attend_in<float>(problem, options);
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::out_of_memory, "scratch for d = ", problem.d, " and d_v = ", problem.d_v,
         " could not be allocated; the outputs are not to be used");
  }
}

}  // namespace lookback
