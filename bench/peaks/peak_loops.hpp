// The fastest loops that one instruction set allows: what the engine's speed is divided by.
#pragma once

#include <cstdint>
#include <string_view>

namespace lookback::bench {

/// `steps` steps of `flops_per_step` floating-point operations (a multiply-add is two).
struct FmaLoop {
  void (*run)(std::int64_t steps);
  double flops_per_step;
};

struct FmaLoops {
  FmaLoop from_registers;  // nothing but multiply-adds
  FmaLoop from_l1;         // a score tile on data that stay in L1, with the loads that it takes
};

/// `bytes` is a multiple of kReadGrain, `data` aligned to a cache line.
using ReadLoop = void (*)(const void* data, std::int64_t bytes, std::int64_t passes);
inline constexpr std::int64_t kReadGrain = 4096;

/// Plain pointers, so that no vector type leaves the file that is compiled for it.
struct PeakLoops {
  std::string_view target;
  FmaLoops float32;
  FmaLoops float64;
  ReadLoop read_cache;   // nothing but loads
  ReadLoop read_memory;  // several streams, prefetched: what a long read needs
};

/// The loops for the target of lookback::targets() that has this name. Throws std::runtime_error if
/// there are none here or this machine cannot run them.
const PeakLoops& peak_loops(std::string_view target);

}  // namespace lookback::bench
