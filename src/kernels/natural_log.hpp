// ln x for x >= 1, NaN for NaN; within 2 ulp: the same correctly rounded operations on every
// machine. For one number at a time, so plain code.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "kernels/isa.hpp"

namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA {

/// x = 2^e m with m around 1, ln m = 2 artanh((m - 1) / (m + 1)) as a power series.
inline double natural_log(double x) {
  if (!(x < std::numeric_limits<double>::infinity())) return x;
  constexpr double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xfffffffffffff) | (std::uint64_t{1023} << 52));
  if (m > 0x1.6a09e667f3bcdp+0) {  // sqrt(2)
    m *= 0.5;
    ++exponent;
  }
  const double t = (m - 1) / (m + 1);
  const double t2 = t * t;
  double series = 0;
  for (int k = 23; k >= 3; k -= 2) series = (series + 2.0 / k) * t2;
  const double e = exponent;
  return e * ln2_high + (2 * t + (t * series + e * ln2_low));
}

}  // namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA
