// Instruction sets: which this binary holds, which this machine runs, which is in use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lookback/export.h"

namespace lookback {

struct Target {
  std::string name;   // "avx512", "avx2", "baseline" (x86-64), "neon" (AArch64)
  bool supported;     // this machine can run it
  bool same_bits;     // has fused multiply-add, so its results are the same bits as the others'
  int float32_lanes;  // per vector
};

/// Best first.
LOOKBACK_API std::vector<Target> targets();

/// The one that calls use: the best supported one, unless the environment variable LOOKBACK_ISA or
/// set_target() names another. Throws Error (unsupported_target) if LOOKBACK_ISA names one that is
/// not here.
LOOKBACK_API std::string active_target();

/// Affects calls that start afterwards, in the whole process. Throws Error (unsupported_target).
LOOKBACK_API void set_target(std::string_view name);

/// Keys are taken in blocks and blocks in chunks of these sizes, the same on every machine.
struct BlockSizes {
  std::int64_t key_block;
  std::int64_t chunk;
};
LOOKBACK_API BlockSizes block_sizes();

/// Semantic version, "1.2.3".
LOOKBACK_API const char* version();

}  // namespace lookback
