#include "plan.hpp"

#include <algorithm>
#include <atomic>

namespace lookback {
namespace {

using kernels::ceil_div;
using kernels::round_up;

/// Rows of a block: enough that a key block copied or fetched once serves many rows.
constexpr std::int64_t kMostRows = 384;
/// What a thread's queries and blends may take, so that they stay in its L2 cache.
constexpr std::int64_t kBlockBytes = 640 * 1024;
/// Below this a task is not worth handing to another thread (some 20 microseconds).
constexpr double kTaskFlops = 1e6;
/// Tasks per thread, so that threads that start late or run slow do not hold up the rest.
constexpr std::int64_t kTasksPerWorker = 4;
/// Blocks per thread of which one more or less is no matter.
constexpr std::int64_t kManyBlocks = 8;
/// More than this only costs: a thread fetches the next block of its own task in time.
constexpr std::int64_t kMostTasksPerWorker = 32;
/// Partial states of split blocks, per thread.
constexpr std::int64_t kPartialBytes = 256 * 1024;

std::atomic<Path> forced{Path::automatic};

bool is_split(Path path) {
  return path == Path::many_rows_split || path == Path::few_rows_split;
}
bool is_few(Path path) {
  return path == Path::few_rows || path == Path::few_rows_split;
}

/// Floating-point operations if every row saw every key.
double flops_of(const Problem& p) {
  double pairs = 0;
  if (p.is_packed()) {
    for (std::int64_t s = 0; s < p.sequences; ++s) {
      const Sequence sequence = p.sequence(s);
      pairs += static_cast<double>(sequence.n_q) * static_cast<double>(sequence.n_k);
    }
  } else {
    pairs = static_cast<double>(p.sequences) * static_cast<double>(p.most_q) *
            static_cast<double>(p.most_k);
  }
  return 2.0 * static_cast<double>((p.d + p.d_v) * p.H) * pairs;
}

/// Query rows of all sequences and heads.
std::int64_t all_rows(const Problem& p) {
  return p.H * p.q.extent[2] * (p.is_packed() ? 1 : p.sequences);
}

}  // namespace

void force_path(Path path) {
  forced = path;
}

std::int64_t Plan::blocks_per_unit(std::int64_t n_q) const {
  return ceil_div(heads_per_unit * n_q, most_rows);
}

std::int64_t Plan::blocks_of(std::int64_t n_q) const {
  return problem->H / heads_per_unit * blocks_per_unit(n_q);
}

/// Within a sequence and head the last rows come first: when causal they see the most keys, and the
/// longest tasks should not start last.
BlockOfRows Plan::block(std::int64_t index) const {
  std::int64_t s = 0;
  if (first_block.empty()) {
    const std::int64_t per_sequence = blocks_of(problem->most_q);
    s = index / per_sequence;
    index %= per_sequence;
  } else {
    const auto after = std::upper_bound(first_block.begin(), first_block.end(), index);
    s = after - first_block.begin() - 1;
    index -= first_block[static_cast<std::size_t>(s)];
  }
  BlockOfRows block{problem->sequence(s), 0, 0, 0};
  const std::int64_t n_q = block.sequence.n_q, per_unit = blocks_per_unit(n_q);
  const std::int64_t rows = heads_per_unit * n_q, steps = ceil_div(rows, row_step);
  // The first blocks take what does not divide, a step each.
  const auto first = [&](std::int64_t i) {
    return (i * (steps / per_unit) + std::min(i, steps % per_unit)) * row_step;
  };
  const std::int64_t i = per_unit - 1 - index % per_unit;
  block.first_head = index / per_unit * heads_per_unit;
  block.first_row = first(i);
  block.n_rows = std::max(std::min(rows, first(i + 1)) - block.first_row, std::int64_t{0});
  return block;
}

class Planner {
 public:
  template <class T>
  static Plan make(const Problem& p, const kernels::Kernels<T>& kernels, int max_workers) {
    const Path path = forced;
    Plan plan{};
    plan.problem = &p;
    const double flops = flops_of(p);
    plan.workers = path == Path::automatic
                       ? static_cast<int>(std::clamp(flops / kTaskFlops, 1.0, double(max_workers)))
                       : max_workers;
    plan.few_rows = is_few(path);
    plan.many_rows = path != Path::automatic && !plan.few_rows;
    choose_rows(plan, kernels);
    count_blocks(plan);
    // Whole tiles are the fastest; with few blocks for each thread it counts more that they are
    // alike.
    const bool many_blocks = plan.workers == 1 || plan.blocks >= kManyBlocks * plan.workers;
    plan.row_step = plan.few_rows ? kernels.few_rows.row_step
                    : many_blocks ? kernels.many_rows.row_step
                                  : kernels.lanes;
    plan.chunks = ceil_div(p.most_k, kernels::kChunk);
    const bool starved = plan.blocks < 2 * plan.workers && plan.workers > 1;
    if (plan.chunks > 1 && plan.blocks > 0 &&
        (path == Path::automatic ? starved : is_split(path))) {
      plan.chunks_per_wave =
          choose_chunks_per_wave(plan, plan.most_rows * (p.d_v + 2) * std::int64_t{sizeof(T)});
      plan.chunks_per_task = std::max(
          std::int64_t{1}, plan.blocks * plan.chunks_per_wave / (kTasksPerWorker * plan.workers));
    }
    const double per_block =
        std::max(1.0, flops / static_cast<double>(std::max<std::int64_t>(plan.blocks, 1)));
    plan.blocks_per_task =
        std::clamp(std::max(static_cast<std::int64_t>(kTaskFlops / per_block),
                            plan.blocks / (kMostTasksPerWorker * plan.workers)),
                   std::int64_t{1}, std::max<std::int64_t>(1, ceil_div(plan.blocks, plan.workers)));
    return plan;
  }

 private:
  template <class T>
  static void choose_rows(Plan& plan, const kernels::Kernels<T>& kernels) {
    const Problem& p = *plan.problem;
    const std::int64_t tile = kernels.many_rows.row_step;
    plan.heads_per_unit = p.most_q < tile ? p.heads_per_kv_head() : 1;
    const std::int64_t rows = plan.heads_per_unit * p.most_q;
    if (plan.few_rows) {
      plan.most_rows = std::min(rows, kernels.few_rows_limit);
      return;
    }
    const std::int64_t row_bytes = (p.d + 3 * p.d_v) * std::int64_t{sizeof(T)} + 1;
    const std::int64_t fitting = std::clamp(kBlockBytes / row_bytes / tile * tile, tile, kMostRows);
    const std::int64_t for_balance = ceil_div(all_rows(p), kTasksPerWorker * plan.workers);
    plan.most_rows = std::clamp(round_up(for_balance, tile), tile, fitting);
  }

  static void count_blocks(Plan& plan) {
    const Problem& p = *plan.problem;
    if (!p.is_packed()) {
      plan.blocks = p.sequences * plan.blocks_of(p.most_q);
      return;
    }
    for (std::int64_t s = 0; s < p.sequences; ++s) {
      plan.first_block.push_back(plan.blocks);
      plan.blocks += plan.blocks_of(p.sequence(s).n_q);
    }
  }

  static std::int64_t choose_chunks_per_wave(const Plan& plan, std::int64_t state_bytes) {
    const std::int64_t for_balance = ceil_div(kTasksPerWorker * plan.workers, plan.blocks);
    const std::int64_t fitting = kPartialBytes * plan.workers / (state_bytes * plan.blocks);
    return std::clamp(std::max(fitting, for_balance), std::int64_t{1}, plan.chunks);
  }
};

template <class T>
Plan make_plan(const Problem& p, const kernels::Kernels<T>& kernels, int max_workers) {
  return Planner::make(p, kernels, max_workers);
}

template Plan make_plan(const Problem&, const kernels::Kernels<float>&, int);
template Plan make_plan(const Problem&, const kernels::Kernels<double>&, int);

}  // namespace lookback
