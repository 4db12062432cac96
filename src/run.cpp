#include "run.hpp"

#include <tbb/task_arena.h>

#include <algorithm>

#include "row_source.hpp"
#include "scratch.hpp"
#include "workers.hpp"

namespace lookback {
namespace {

/// Cancelling is looked for between stretches of this many chunks.
constexpr std::int64_t kChunksPerStretch = 64;

/// What a thread needs to work on a block.
struct ThreadMemory {
  Scratch workspace, state;
  RowMemory rows;
};
thread_local ThreadMemory thread_memory;

/// Takes the thread's memory for a while: a progress callback may make a call of its own on the
/// same thread, which then finds none and starts anew.
class Lease {
 public:
  Lease() : memory_(std::move(thread_memory)) {}
  ~Lease() { thread_memory = std::move(memory_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ThreadMemory* operator->() { return &memory_; }

 private:
  ThreadMemory memory_;
};

template <class T>
class Run {
 public:
  Run(const Problem& problem, const Plan& plan, const kernels::Kernels<T>& kernels,
      const Options& options)
      : plan_(plan),
        kernels_(kernels),
        source_(problem),
        progress_(options.progress, static_cast<double>(plan.blocks)) {}

  void operator()() {
    plan_.splits_keys() ? run_split() : run_whole();
    progress_.finish();
  }

 private:
  /// Each block runs through all its chunks.
  void run_whole() {
    const std::int64_t per_task = plan_.blocks_per_task, blocks = plan_.blocks;
    const std::int64_t tasks = (blocks + per_task - 1) / per_task;
    for_each_task(tasks, plan_.workers, progress_, [&](std::int64_t task) {
      const std::int64_t end = std::min(blocks, (task + 1) * per_task);
      // Alone, this thread also takes the task after this one.
      const std::int64_t known = plan_.workers == 1 ? blocks : end;
      BlockOfRows next = plan_.block(task * per_task);
      for (std::int64_t i = task * per_task; i < end && !progress_.cancelled(); ++i) {
        const BlockOfRows rows = next;
        const bool more = i + 1 < known;
        if (more) next = plan_.block(i + 1);
        run_block(rows, more ? &next : nullptr);
      }
    });
  }

  /// next: what this thread computes afterwards, if that is known.
  void run_block(const BlockOfRows& rows, const BlockOfRows* next) {
    if (rows.n_rows == 0) return;
    const kernels::RowKernel<T>& kernel = kernel_for(rows.n_rows);
    const kernels::Sizes sizes = sizes_of(rows);
    Lease memory;
    kernels::RowBlock<T> block = block_of(rows, memory->rows);
    if (next) {
      memory->rows.ahead = source_.ahead(*next, plan_.heads_per_unit);
      block.ahead = &memory->rows.ahead;
    }
    const auto state = kernels::state_at(memory->state.get<T>(sizes.state()), sizes);
    T* workspace = memory->workspace.get<T>(sizes.workspace);
    const std::int64_t chunks = chunks_of(rows);
    std::int64_t chunk = 0;
    do {
      const std::int64_t end = std::min(chunk + kChunksPerStretch, chunks);
      kernel.attend(block, chunk, end, state, chunk == 0, workspace);
      progress_.add(static_cast<double>(end - chunk) / static_cast<double>(std::max(chunks, end)));
      chunk = end;
    } while (chunk < chunks && !progress_.cancelled());
    kernels_.finish(block, state, sizes);
  }

  /// Chunks of a block are computed side by side, a wave of them at a time, and folded in order.
  void run_split() {
    const std::int64_t blocks = plan_.blocks, wave = plan_.chunks_per_wave;
    const std::int64_t slot =
        kernel_for(plan_.most_rows)
            .sizes(plan_.most_rows, source_.features(), source_.value_features())
            .state();
    Scratch totals_memory, partials_memory;
    T* totals = totals_memory.get<T>(blocks * slot);
    T* partials = partials_memory.get<T>(blocks * wave * slot);
    for (std::int64_t first = 0; first < plan_.chunks && !progress_.cancelled(); first += wave) {
      const std::int64_t count = std::min(wave, plan_.chunks - first);
      const std::int64_t per_task = plan_.chunks_per_task,
                         tasks = (count + per_task - 1) / per_task;
      for_each_task(blocks * tasks, plan_.workers, progress_, [&](std::int64_t task) {
        const std::int64_t b = task / tasks, begin = task % tasks * per_task;
        const std::int64_t end = std::min(count, begin + per_task);
        run_chunks(plan_.block(b), first + begin, first + end, [&](std::int64_t chunk) {
          return chunk == 0 ? totals + b * slot : partials + (b * count + chunk - first) * slot;
        });
        progress_.add(static_cast<double>(end - begin) / static_cast<double>(plan_.chunks));
      });
      for_each_task(blocks, plan_.workers, progress_, [&](std::int64_t b) {
        const kernels::Sizes sizes = sizes_of(plan_.block(b));
        for (std::int64_t i = first == 0 ? 1 : 0; i < count; ++i) {
          kernels_.fold(kernels::state_at(totals + b * slot, sizes),
                        kernels::state_at(partials + (b * count + i) * slot, sizes), sizes,
                        source_.rate());
        }
      });
    }
    for_each_task(blocks, plan_.workers, progress_, [&](std::int64_t b) {
      const BlockOfRows rows = plan_.block(b);
      const kernels::Sizes sizes = sizes_of(rows);
      Lease memory;
      kernels_.finish(block_of(rows, memory->rows), kernels::state_at(totals + b * slot, sizes),
                      sizes);
    });
  }

  /// Chunks [first, end) of a block, each into a state of its own.
  template <class StateOf>
  void run_chunks(const BlockOfRows& rows, std::int64_t first, std::int64_t end,
                  const StateOf& state_of) {
    Lease memory;
    const kernels::Sizes sizes = sizes_of(rows);
    const kernels::RowBlock<T> block = block_of(rows, memory->rows);
    T* workspace = memory->workspace.get<T>(sizes.workspace);
    for (std::int64_t chunk = first; chunk < end; ++chunk) {
      kernel_for(rows.n_rows)
          .attend(block, chunk, chunk + 1, kernels::state_at(state_of(chunk), sizes), true,
                  workspace);
    }
  }

  const kernels::RowKernel<T>& kernel_for(std::int64_t n_rows) const {
    const bool few = plan_.few_rows || (!plan_.many_rows && n_rows <= kernels_.few_rows_limit);
    return few ? kernels_.few_rows : kernels_.many_rows;
  }
  kernels::Sizes sizes_of(const BlockOfRows& rows) const {
    return kernel_for(rows.n_rows).sizes(rows.n_rows, source_.features(), source_.value_features());
  }
  kernels::RowBlock<T> block_of(const BlockOfRows& rows, RowMemory& memory) const {
    return source_.rows(rows, plan_.heads_per_unit, memory);
  }
  static std::int64_t chunks_of(const BlockOfRows& rows) {
    return (rows.sequence.n_k + kernels::kChunk - 1) / kernels::kChunk;
  }

  const Plan& plan_;
  const kernels::Kernels<T>& kernels_;
  const RowSource<T> source_;
  Progress progress_;
};

}  // namespace

int available_workers(const Options& options) {
  const int in_arena = tbb::this_task_arena::max_concurrency();
  return options.threads ? std::min(*options.threads, in_arena) : in_arena;
}

template <class T>
void run(const Problem& problem, const Plan& plan, const kernels::Kernels<T>& kernels,
         const Options& options) {
  Run<T>(problem, plan, kernels, options)();
}

template void run(const Problem&, const Plan&, const kernels::Kernels<float>&, const Options&);
template void run(const Problem&, const Plan&, const kernels::Kernels<double>&, const Options&);

}  // namespace lookback
