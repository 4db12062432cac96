#include "roofs.hpp"

#include <algorithm>
#include <atomic>
#include <lookback/target.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "buffer.hpp"
#include "clock.hpp"
#include "peaks/peak_loops.hpp"

namespace lookback::bench {
namespace {

// From the moment all threads are there to the moment the last is done. A spinning start costs
// nothing beside a turn; waking threads would.
template <class Work>
double seconds_on_threads(int threads, const Work& work) {
  std::atomic<int> here = 0;
  std::vector<double> begin(static_cast<std::size_t>(threads)), end(begin);
  const auto run = [&](int thread) {
    ++here;
    while (here < threads) std::this_thread::yield();
    begin[static_cast<std::size_t>(thread)] = now_seconds();
    work(thread);
    end[static_cast<std::size_t>(thread)] = now_seconds();
  };
  std::vector<std::jthread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
  run(0);
  others.clear();  // joins
  return *std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end());
}

// work(thread, repetitions) on every thread, sized once to fill a turn; `units` are what one
// repetition does on all threads together.
template <class Work>
Turn sized_turn(int threads, double units, Work work) {
  const auto seconds = [=](std::int64_t repetitions) {
    return seconds_on_threads(threads, [&](int thread) { work(thread, repetitions); });
  };
  const std::int64_t repetitions = repetitions_for(kTurnSeconds, seconds);
  return [=] { return units * static_cast<double>(repetitions) / seconds(repetitions); };
}

const FmaLoop& fma_loop(Type type, Feed feed) {
  const PeakLoops& loops = peak_loops(active_target());
  // 16-bit storage is computed in float32.
  const FmaLoops& of_type = type == Type::float64 ? loops.float64 : loops.float32;
  return feed == Feed::registers ? of_type.from_registers : of_type.from_l1;
}

std::int64_t round_down_to_grain(std::int64_t bytes) {
  return bytes / kReadGrain * kReadGrain;
}

}  // namespace

std::vector<int> thread_counts() {
  return std::thread::hardware_concurrency() >= 2 ? std::vector{1, 2} : std::vector{1};
}

Turn fma_turn(Type type, Feed feed, int threads) {
  const FmaLoop loop = fma_loop(type, feed);
  return sized_turn(threads, loop.flops_per_step * threads,
                    [=](int, std::int64_t steps) { loop.run(steps); });
}

Turn read_turn(const void* data, std::int64_t bytes, int threads) {
  const ReadLoop read = peak_loops(active_target()).read_memory;
  const std::int64_t share = round_down_to_grain(bytes / threads);
  return sized_turn(threads, static_cast<double>(share * threads),
                    [=](int thread, std::int64_t passes) {
                      read(static_cast<const char*>(data) + thread * share, share, passes);
                    });
}

Turn cache_read_turn(std::int64_t bytes, int threads) {
  const ReadLoop read = peak_loops(active_target()).read_cache;
  const std::int64_t share = round_down_to_grain(bytes);
  const auto data = std::make_shared<Buffer<char>>(share * threads);
  return sized_turn(
      threads, static_cast<double>(share * threads),
      [=](int thread, std::int64_t passes) { read(data->data() + thread * share, share, passes); });
}

}  // namespace lookback::bench
