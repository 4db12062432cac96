// Random numbers that are the same on every machine: integers only until the last step, no libm.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace lookback::test {

/// The seed of the property tests: fixed, unless LOOKBACK_TEST_SEED gives another. Print it.
inline std::uint64_t test_seed() {
  const char* given = std::getenv("LOOKBACK_TEST_SEED");
  return given ? std::strtoull(given, nullptr, 10) : 1729;
}

/// splitmix64 (Steele, Lea and Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// In [0, 1), on a grid of 2^-24 so that it is exact in float32.
  double unit() { return static_cast<double>(bits() >> 40) * 0x1p-24; }
  /// Uniform in [-width, width).
  double symmetric(double width = 1) { return (2 * unit() - 1) * width; }
  /// Near enough to a standard normal, which is what projections look like.
  double normal() {
    double sum = -6;
    for (int draw = 0; draw < 12; ++draw) sum += unit();
    return sum;
  }
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::uint64_t state_;
};

}  // namespace lookback::test
