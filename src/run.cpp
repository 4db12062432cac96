#include "run.hpp"

#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "scratch.hpp"
#include "workers.hpp"

namespace lookback {
namespace {

/// Cancelling is looked for between stretches of this many chunks.
constexpr std::int64_t kChunksPerStretch = 64;

/// What a thread needs to work on a block.
struct ThreadMemory {
  Scratch workspace, state;
  std::vector<kernels::Row> rows;
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

template <class Pointer>
auto* at(const Tensor& t, Pointer* data, std::int64_t b, std::int64_t h, std::int64_t i) {
  const auto offset = (b * t.stride[0] + h * t.stride[1] + i * t.stride[2]) * size_of(t.type);
  using Byte = std::conditional_t<std::is_const_v<Pointer>, const char, char>;
  return static_cast<Pointer*>(static_cast<Byte*>(data) + offset);
}

template <class T>
class Run {
 public:
  Run(const Problem& problem, const Plan& plan, const kernels::Kernels<T>& kernels,
      const Options& options)
      : p_(problem),
        plan_(plan),
        kernels_(kernels),
        kernel_(plan.few_rows ? kernels.few_rows : kernels.many_rows),
        progress_(options.progress,
                  static_cast<double>(plan.blocks() * std::max<std::int64_t>(plan.chunks, 1))) {}

  void operator()() {
    plan_.splits_keys() ? run_split() : run_whole();
    progress_.finish();
  }

 private:
  /// Each block runs through all its chunks.
  void run_whole() {
    const std::int64_t per_task = plan_.blocks_per_task, blocks = plan_.blocks();
    for_each_task((blocks + per_task - 1) / per_task, plan_.workers, progress_,
                  [&](std::int64_t task) {
                    const std::int64_t end = std::min(blocks, (task + 1) * per_task);
                    for (std::int64_t i = task * per_task; i < end && !progress_.cancelled(); ++i)
                      run_block(i);
                  });
  }

  void run_block(std::int64_t index) {
    Lease memory;
    const kernels::RowBlock<T> block = block_at(index, memory->rows);
    const kernels::State<T> state = state_at(memory->state.get<T>(plan_.sizes.state()));
    T* workspace = memory->workspace.get<T>(plan_.sizes.workspace);
    std::int64_t chunk = 0;
    do {
      const std::int64_t end = std::min(chunk + kChunksPerStretch, plan_.chunks);
      kernel_.attend(block, chunk, end, state, chunk == 0, workspace);
      progress_.add(static_cast<double>(end - chunk));
      chunk = end;
    } while (chunk < plan_.chunks && !progress_.cancelled());
    kernels_.finish(block, state, plan_.sizes);
  }

  /// Chunks of a block are computed side by side, some at a time, and folded in order.
  void run_split() {
    const std::int64_t blocks = plan_.blocks(), size = plan_.sizes.state(),
                       wave = plan_.chunks_per_wave;
    Scratch totals_memory, partials_memory;
    T* totals = totals_memory.get<T>(blocks * size);
    T* partials = partials_memory.get<T>(blocks * wave * size);
    for (std::int64_t first = 0; first < plan_.chunks && !progress_.cancelled(); first += wave) {
      const std::int64_t count = std::min(wave, plan_.chunks - first);
      for_each_task(blocks * count, plan_.workers, progress_, [&](std::int64_t task) {
        const std::int64_t chunk = first + task % count;
        T* partial = chunk == 0 ? totals + task / count * size : partials + task * size;
        Lease memory;
        kernel_.attend(block_at(task / count, memory->rows), chunk, chunk + 1, state_at(partial),
                       true, memory->workspace.get<T>(plan_.sizes.workspace));
        progress_.add(1);
      });
      for_each_task(blocks, plan_.workers, progress_, [&](std::int64_t block) {
        for (std::int64_t i = first == 0 ? 1 : 0; i < count; ++i) {
          kernels_.fold(state_at(totals + block * size),
                        state_at(partials + (block * count + i) * size), plan_.sizes, rate());
        }
      });
    }
    for_each_task(blocks, plan_.workers, progress_, [&](std::int64_t block) {
      Lease memory;
      kernels_.finish(block_at(block, memory->rows), state_at(totals + block * size), plan_.sizes);
    });
  }

  kernels::State<T> state_at(T* memory) const {
    const std::int64_t rows = plan_.sizes.padded_rows;
    return {memory, memory + rows, memory + 2 * rows};
  }

  /// log2(e) / T, kept away from infinity and 0 so that equal scores stay equal at any temperature.
  T rate() const {
    constexpr double log2_e = 0x1.71547652b82fep+0;
    return static_cast<T>(std::clamp(log2_e / p_.temperature,
                                     static_cast<double>(std::numeric_limits<T>::min()),
                                     static_cast<double>(std::numeric_limits<T>::max())));
  }

  /// The rows of a block, in this thread's memory. Later rows, which see more keys when causal,
  /// come first, so that the longest tasks do not start last.
  kernels::RowBlock<T> block_at(std::int64_t index, std::vector<kernels::Row>& rows) {
    const std::int64_t unit = index / plan_.blocks_per_unit;
    const std::int64_t from_last = index % plan_.blocks_per_unit;
    const std::int64_t first_row = (plan_.blocks_per_unit - 1 - from_last) * plan_.rows_per_block;
    const std::int64_t n_rows = std::min(plan_.rows_per_block, plan_.rows_per_unit - first_row);
    const std::int64_t units_per_sequence = p_.H / plan_.heads_per_unit;
    const std::int64_t b = unit / units_per_sequence;
    const std::int64_t first_head = unit % units_per_sequence * plan_.heads_per_unit;
    const std::int64_t kv_head = first_head / p_.heads_per_kv_head();

    rows.clear();
    for (std::int64_t r = first_row; r < first_row + n_rows; ++r) {
      rows.push_back(row_at(b, first_head + r / p_.n_q, r % p_.n_q));
    }
    return {rows.data(),
            n_rows,
            {at(p_.k, p_.k.data, b, kv_head, 0), p_.k.stride[2], p_.k.stride[3]},
            {at(p_.v, p_.v.data, b, kv_head, 0), p_.v.stride[2], p_.v.stride[3]},
            p_.d,
            p_.d_v,
            p_.q.stride[3],
            p_.out.stride[3],
            static_cast<T>(p_.scale),
            rate(),
            p_.temperature};
  }

  kernels::Row row_at(std::int64_t b, std::int64_t h, std::int64_t i) const {
    const std::int64_t end =
        p_.causal ? std::clamp(i + p_.offset + 1, std::int64_t{0}, p_.n_k) : p_.n_k;
    return {at(p_.q, p_.q.data, b, h, i), at(p_.out, p_.out.data, b, h, i),
            p_.lse ? at(*p_.lse, p_.lse->data, b, h, i) : nullptr, 0, end};
  }

  const Problem& p_;
  const Plan& plan_;
  const kernels::Kernels<T>& kernels_;
  const kernels::RowKernel<T>& kernel_;
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
