// The story of align(): check -> attend, keeping each row's maximum and sum -> weights again ->
// views.
#include "lookback/align.hpp"

#include <vector>

#include "align_run.hpp"
#include "check.hpp"
#include "message.hpp"
#include "plan.hpp"
#include "run.hpp"
#include "target_table.hpp"

namespace lookback {
namespace {

/// Half of the way is the first pass, half the second.
Options with_half_of_progress(const Options& options) {
  Options half = options;
  if (options.progress) {
    half.progress = [&options](double done) { return options.progress(done / 2); };
  }
  return half;
}

template <class T>
void align_in(Problem& problem, const Views& views, const Options& options) {
  const kernels::Kernels<T>& kernels = active_kernels().of<T>();
  const int workers = available_workers(options);
  std::vector<T> statistics(
      static_cast<std::size_t>(2 * problem.q.extent[0] * problem.H * problem.q.extent[2]));
  problem.statistics = statistics.data();
  if (problem.has_rows()) {
    run(problem, make_plan(problem, kernels, workers), kernels, with_half_of_progress(options));
  }
  std::function<bool(double)> second_half;
  if (options.progress) {
    second_half = [&options](double done) { return options.progress(0.5 + done / 2); };
  }
  Progress progress(second_half, work_of_views(problem, views));
  run_views(problem, views, kernels, workers, progress);
  progress.finish();
}

void align_checked(const Tensor& q, const Tensor& k, const Tensor& v, const OutputTensor& out,
                   const Views& views, const Options& options, bool has_context) {
  const DefaultFloatingPoint environment;
  Outputs outputs(out);
  outputs.lse = views.lse;
  Problem problem = check(q, k, v, outputs, options);
  check_views(problem, views, has_context);
  try {
    q.type == Type::float64 ? align_in<double>(problem, views, options)
                            : align_in<float>(problem, views, options);
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::out_of_memory, "memory for views of ", text_of(q.extent), " queries and ",
         k.extent[2], " keys could not be allocated; the outputs are not to be used");
  }
}

}  // namespace

void align(const Tensor& q, const Tensor& k, const Views& views, const Options& options) {
  // Values of no features: everything but the blend.
  const Type type = q.type == Type::float64 ? Type::float64 : Type::float32;
  const Tensor v{nullptr, type, {k.extent[0], k.extent[1], k.extent[2], 0}, {0, 0, 0, 1}};
  const OutputTensor out{nullptr, type, {q.extent[0], q.extent[1], q.extent[2], 0}, {0, 0, 0, 1}};
  align_checked(q, k, v, out, views, options, false);
}

void align(const Tensor& q, const Tensor& k, const Tensor& v, const OutputTensor& out,
           const Views& views, const Options& options) {
  align_checked(q, k, v, out, views, options, true);
}

}  // namespace lookback
