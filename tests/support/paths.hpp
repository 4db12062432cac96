// Every way through the engine: kernels for many and few rows, whole and split over key chunks, on
// each instruction set, on one and two threads.
#pragma once

#include <array>

#include "plan.hpp"
#include "support/targets.hpp"

namespace lookback::test {

inline constexpr std::array<Path, 5> kPaths = {Path::automatic, Path::many_rows, Path::few_rows,
                                               Path::many_rows_split, Path::few_rows_split};

inline const char* name_of(Path path) {
  constexpr std::array<const char*, 5> names = {"automatic", "many rows", "few rows",
                                                "many rows split", "few rows split"};
  return names[static_cast<std::size_t>(path)];
}

/// Forces a path while it lives.
class PathScope {
 public:
  explicit PathScope(Path path) { force_path(path); }
  ~PathScope() { force_path(Path::automatic); }
  PathScope(const PathScope&) = delete;
  PathScope& operator=(const PathScope&) = delete;
};

/// Targets whose results are the same bits.
inline std::vector<Target> same_bits_targets() {
  std::vector<Target> found;
  for (const Target& target : supported_targets())
    if (target.same_bits) found.push_back(target);
  return found;
}

}  // namespace lookback::test
