// Wall time, and how often to repeat something so that it fills a turn.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

namespace lookback::bench {

inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The number of repetitions that takes about `target` seconds, at least 1. seconds(n) is the time
/// of n repetitions. The best of three, so that neither the first touch of the data nor another
/// process that got in between makes all turns too short.
template <class Seconds>
std::int64_t repetitions_for(double target, Seconds seconds) {
  const auto best_of_three = [&](std::int64_t count) {
    return std::min({seconds(count), seconds(count), seconds(count)});
  };
  std::int64_t count = 1;
  double taken = best_of_three(count);
  while (taken < target / 8) {
    count *= 4;
    taken = best_of_three(count);
  }
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(count) * target / taken));
}

}  // namespace lookback::bench
