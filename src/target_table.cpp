#include "target_table.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <atomic>
#include <cstdlib>
#include <span>

#include "lookback/target.hpp"
#include "message.hpp"
#include "targets/targets.hpp"

namespace lookback {
namespace {

struct Entry {
  const char* name;
  bool supported;
  bool same_bits;
  const kernels::KernelTable& kernels;
};

#if defined(__x86_64__)
/// Clang 14's __builtin_cpu_supports has no word for it.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

/// Best first. __builtin_cpu_supports also asks whether the system saves the registers.
std::span<const Entry> entries() {
#if defined(__x86_64__)
  static const Entry table[] = {
      {"avx512",
       __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma") && has_f16c(),
       true, kernels::avx512},
      {"avx2", __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c(), true,
       kernels::avx2},
      {"baseline", true, false, kernels::baseline},
  };
#elif defined(__aarch64__)
  static const Entry table[] = {{"neon", true, true, kernels::neon}};
#else
#error "lookback has kernels for x86-64 and AArch64"
#endif
  return table;
}

const Entry& find(std::string_view name, const char* asked_by) {
  std::string runnable;
  for (const Entry& entry : entries()) {
    if (entry.supported && name == entry.name) return entry;
    if (entry.supported) runnable += (runnable.empty() ? "" : ", ") + std::string(entry.name);
  }
  for (const Entry& entry : entries()) {
    if (name == entry.name) {
      fail(ErrorCode::unsupported_target, asked_by, " asks for the instruction set '", name,
           "', which this machine lacks; it runs: ", runnable);
    }
  }
  fail(ErrorCode::unsupported_target, asked_by, " asks for the instruction set '", name,
       "', which this build of lookback does not know; this machine runs: ", runnable);
}

const Entry& choose() {
  const char* wanted = std::getenv("LOOKBACK_ISA");
  if (wanted && *wanted) return find(wanted, "LOOKBACK_ISA");
  for (const Entry& entry : entries()) {
    if (entry.supported) return entry;
  }
  fail(ErrorCode::unsupported_target,
       "this machine runs none of the instruction sets of this build");
}

std::atomic<const Entry*> in_use{nullptr};

const Entry& active() {
  const Entry* entry = in_use.load(std::memory_order_acquire);
  if (!entry) {
    const Entry* chosen = &choose();
    // set_target() on another thread may have come first, and stays.
    if (in_use.compare_exchange_strong(entry, chosen)) entry = chosen;
  }
  return *entry;
}

}  // namespace

const kernels::KernelTable& active_kernels() {
  return active().kernels;
}

std::vector<Target> targets() {
  std::vector<Target> list;
  for (const Entry& entry : entries()) {
    list.push_back({entry.name, entry.supported, entry.same_bits, entry.kernels.float32.lanes});
  }
  return list;
}

std::string active_target() {
  return active().name;
}

void set_target(std::string_view name) {
  in_use.store(&find(name, "set_target"));
}

BlockSizes block_sizes() {
  return {kernels::kKeyBlock, kernels::kChunk};
}

const char* version() {
  return LOOKBACK_VERSION;
}

}  // namespace lookback
