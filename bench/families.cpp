#include "families.hpp"

#include <benchmark/benchmark.h>

#include "beside.hpp"

namespace lookback::bench {
namespace {

void add_counters(benchmark::State& state, const Turns& turns, const Shape& shape) {
  const auto add = [&](const std::string& what, Summary summary, double units = 1) {
    state.counters[what] = summary.median * units;
    state.counters[what + "_best"] = summary.best * units;
  };
  add("GFLOP/s", turns.calls(), useful_flops(shape) * 1e-9);
  add("of_fma", turns.fraction(register_fma));
  add("of_l1_fma", turns.fraction(l1_fma));
  if (!is_decode(shape)) return;
  add("GB/s", turns.calls(), bytes_to_read(shape) * 1e-9);
  add("of_read", turns.fraction(memory_read));
}

void run_shape(benchmark::State& state, const Shape& shape, int threads) {
  const Problem problem(shape, threads);
  Turns turns = turns_beside_roofs(problem);
  for ([[maybe_unused]] auto turn : state) state.SetIterationTime(1 / turns.take());
  add_counters(state, turns, shape);
}

}  // namespace

std::string threads_and_target(int threads) {
  return "/threads:" + std::to_string(threads) + "/" + active_target();
}

void register_shape(const std::string& family, const Shape& shape) {
  for (const int threads : thread_counts()) {
    const std::string name = family + "/" + name_of(shape) + threads_and_target(threads);
    benchmark::RegisterBenchmark(name.c_str(),
                                 [=](benchmark::State& state) { run_shape(state, shape, threads); })
        ->Iterations(kTurns)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace lookback::bench
