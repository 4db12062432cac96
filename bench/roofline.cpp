// The machine's limits by themselves.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <memory>

#include "buffer.hpp"
#include "families.hpp"
#include "turns.hpp"

namespace lookback::bench {
namespace {

// Well past what one process gets of a shared last-level cache.
constexpr std::int64_t kMemoryBytes = std::int64_t{512} << 20;

// Half of a cache: all of it would also hold the stack and whatever else runs.
std::int64_t half_of_cache(int sysconf_name, std::int64_t if_unknown) {
  const std::int64_t bytes = sysconf(sysconf_name);
  return (bytes > 0 ? bytes : if_unknown) / 2;
}

// make_turn is called when the benchmark runs, not when it is registered: it allocates.
template <class MakeTurn>
void register_roof(const std::string& what, const char* counter, int threads, MakeTurn make_turn) {
  const std::string name = "roofline/" + what + threads_and_target(threads);
  const auto run = [=](benchmark::State& state) {
    const Turn turn = make_turn();
    std::vector<double> rates;
    for ([[maybe_unused]] auto iteration : state) rates.push_back(turn());
    const Summary summary = summarise(rates);
    state.counters[counter] = summary.median * 1e-9;
    state.counters[std::string(counter) + "_best"] = summary.best * 1e-9;
  };
  benchmark::RegisterBenchmark(name.c_str(), run)
      ->Iterations(kTurns)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

void register_fma(int threads) {
  for (const Type type : {Type::float32, Type::float64}) {
    const std::string prefix = std::string("fma/") + name_of(type);
    register_roof(prefix + "/registers", "GFLOP/s", threads,
                  [=] { return fma_turn(type, Feed::registers, threads); });
    register_roof(prefix + "/l1", "GFLOP/s", threads,
                  [=] { return fma_turn(type, Feed::l1, threads); });
  }
}

void register_read(int threads) {
  register_roof("read/l1", "GB/s", threads, [=] {
    return cache_read_turn(half_of_cache(_SC_LEVEL1_DCACHE_SIZE, 32 << 10), threads);
  });
  register_roof("read/l2", "GB/s", threads, [=] {
    return cache_read_turn(half_of_cache(_SC_LEVEL2_CACHE_SIZE, 512 << 10), threads);
  });
  register_roof("read/memory", "GB/s", threads, [=] {
    const auto data = std::make_shared<Buffer<float>>(kMemoryBytes / 4);
    return Turn([data, turn = read_turn(data->data(), kMemoryBytes, threads)] { return turn(); });
  });
}

}  // namespace

void register_roofline() {
  for (const int threads : thread_counts()) {
    register_fma(threads);
    register_read(threads);
  }
}

}  // namespace lookback::bench
