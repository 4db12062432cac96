#include "plan.hpp"

#include <algorithm>
#include <atomic>

namespace lookback {
namespace {

using kernels::round_up;

/// Rows of a block: enough that a key block copied or fetched once serves many rows.
constexpr std::int64_t kMaxRows = 192;
/// What a thread's queries and blends may take, so that they stay in its L2 cache.
constexpr std::int64_t kBlockBytes = 640 * 1024;
/// Below this a task is not worth handing to another thread (some 20 microseconds).
constexpr double kTaskFlops = 1e6;
/// Tasks per thread, so that threads that start late or run slow do not hold up the rest.
constexpr std::int64_t kTasksPerWorker = 4;
/// Partial states of split blocks, per thread.
constexpr std::int64_t kPartialBytes = 256 * 1024;

std::atomic<Path> forced{Path::automatic};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

template <class T>
std::int64_t choose_rows_per_block(const Problem& p, const Plan& plan,
                                   const kernels::RowKernel<T>& kernel, std::int64_t tile) {
  const std::int64_t row_bytes = (p.d + 3 * p.d_v) * static_cast<std::int64_t>(sizeof(T)) + 1;
  const std::int64_t fitting = std::clamp(kBlockBytes / row_bytes / tile * tile, tile, kMaxRows);
  const std::int64_t for_balance =
      ceil_div(plan.units * plan.rows_per_unit, kTasksPerWorker * plan.workers);
  const std::int64_t most = std::clamp(round_up(for_balance, tile), tile, fitting);
  const std::int64_t blocks = ceil_div(plan.rows_per_unit, most);
  return round_up(ceil_div(plan.rows_per_unit, blocks), kernel.row_step);
}

std::int64_t choose_chunks_per_wave(const Plan& plan, std::int64_t state_bytes) {
  const std::int64_t for_balance = ceil_div(kTasksPerWorker * plan.workers, plan.blocks());
  const std::int64_t fitting = kPartialBytes * plan.workers / (state_bytes * plan.blocks());
  return std::clamp(std::max(fitting, for_balance), std::int64_t{1}, plan.chunks);
}

bool is_split(Path path) {
  return path == Path::many_rows_split || path == Path::few_rows_split;
}
bool is_few(Path path) {
  return path == Path::few_rows || path == Path::few_rows_split;
}

}  // namespace

void force_path(Path path) {
  forced = path;
}

double flops_of(const Problem& p) {
  const double pairs = static_cast<double>(p.n_q) * static_cast<double>(p.n_k);
  return 2.0 * static_cast<double>(p.d + p.d_v) * pairs * static_cast<double>(p.B * p.H);
}

template <class T>
Plan make_plan(const Problem& p, const kernels::Kernels<T>& kernels, int max_workers) {
  const Path path = forced;
  const double flops = flops_of(p);
  Plan plan{};
  plan.workers =
      static_cast<int>(std::clamp(flops / kTaskFlops, 1.0, static_cast<double>(max_workers)));
  if (path != Path::automatic) plan.workers = max_workers;
  const std::int64_t tile = 3 * kernels.many_rows.row_step;
  const std::int64_t group = p.heads_per_kv_head();
  plan.heads_per_unit = p.n_q < tile ? group : 1;
  plan.units = p.B * p.H / plan.heads_per_unit;
  plan.rows_per_unit = plan.heads_per_unit * p.n_q;
  plan.few_rows =
      path == Path::automatic ? plan.rows_per_unit <= kernels.few_rows_limit : is_few(path);
  const auto& kernel = plan.few_rows ? kernels.few_rows : kernels.many_rows;
  plan.rows_per_block = plan.few_rows ? std::min(plan.rows_per_unit, kernels.few_rows_limit)
                                      : choose_rows_per_block(p, plan, kernel, tile);
  plan.blocks_per_unit = ceil_div(plan.rows_per_unit, plan.rows_per_block);
  plan.sizes = kernel.sizes(plan.rows_per_block, p.d, p.d_v);
  plan.chunks = ceil_div(p.n_k, kernels::kChunk);
  const bool starved = plan.blocks() < 2 * plan.workers && plan.workers > 1;
  if (plan.chunks > 1 && (path == Path::automatic ? starved : is_split(path))) {
    plan.chunks_per_wave =
        choose_chunks_per_wave(plan, plan.sizes.state() * static_cast<std::int64_t>(sizeof(T)));
  }
  const double block_flops = flops / static_cast<double>(plan.blocks());
  plan.blocks_per_task =
      std::clamp(static_cast<std::int64_t>(kTaskFlops / std::max(block_flops, 1.0)),
                 std::int64_t{1}, ceil_div(plan.blocks(), plan.workers));
  return plan;
}

template Plan make_plan(const Problem&, const kernels::Kernels<float>&, int);
template Plan make_plan(const Problem&, const kernels::Kernels<double>&, int);

}  // namespace lookback
