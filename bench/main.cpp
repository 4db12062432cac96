// lookback_bench: Google Benchmark over all families.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <exception>
#include <lookback/target.hpp>

#include "families.hpp"

int main(int argc, char** argv) try {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("lookback", lookback::version());
  benchmark::AddCustomContext("target", lookback::active_target());
  lookback::bench::register_roofline();
  lookback::bench::register_prefill();
  lookback::bench::register_decode();
  lookback::bench::register_short();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "lookback_bench: %s\n", error.what());
  return 2;
}
