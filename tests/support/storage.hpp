// 16-bit storage by the definition of the formats, in plain arithmetic on doubles: what the
// engine's bit tricks are held against.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "lookback/tensor.hpp"

namespace lookback::test {

/// sign | exponent | fraction, with IEEE's subnormals, infinities and NaN.
struct Format {
  int exponent_bits, fraction_bits;

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int lowest_exponent() const { return 1 - bias(); }
  constexpr std::uint32_t special() const { return (1u << exponent_bits) - 1; }
};
inline constexpr Format kBfloat16{8, 7}, kFloat16{5, 10};

inline double decode(const Format& f, std::uint16_t bits) {
  const std::uint32_t fraction = bits & ((1u << f.fraction_bits) - 1);
  const std::uint32_t exponent = (bits >> f.fraction_bits) & f.special();
  const double sign = (bits & 0x8000u) != 0 ? -1 : 1;
  if (exponent == f.special()) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  const int scale = (exponent == 0 ? 1 : static_cast<int>(exponent)) - f.bias() - f.fraction_bits;
  const std::uint32_t whole = exponent == 0 ? fraction : fraction + (1u << f.fraction_bits);
  return sign * std::ldexp(static_cast<double>(whole), scale);
}

/// Nearest, ties to even, whatever rounding mode is set.
inline double round_to_even(double x) {
  const double below = std::floor(x), rest = x - below;
  const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(below, 2) != 0);
  return up ? below + 1 : below;
}

inline std::uint16_t encode(const Format& f, double x) {
  const std::uint32_t sign = std::signbit(x) ? 0x8000u : 0;
  const std::uint32_t infinity = f.special() << f.fraction_bits;
  if (std::isnan(x)) return static_cast<std::uint16_t>(sign | infinity | 1);
  const double magnitude = std::fabs(x);
  if (magnitude == 0) return static_cast<std::uint16_t>(sign);
  if (std::isinf(magnitude)) return static_cast<std::uint16_t>(sign | infinity);
  const int exponent = std::max(std::ilogb(magnitude), f.lowest_exponent());
  // In units of the last place. The carry into the next binade is the next pattern.
  const double units = round_to_even(std::ldexp(magnitude, f.fraction_bits - exponent));
  const std::uint32_t binades = static_cast<std::uint32_t>(exponent - f.lowest_exponent());
  const double pattern = std::ldexp(binades, f.fraction_bits) + units;
  const double most = infinity;
  return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(std::fmin(pattern, most)));
}

inline double value_of(float x) {
  return x;
}
inline double value_of(double x) {
  return x;
}
inline double value_of(bool x) {
  return x ? 1 : 0;
}
inline double value_of(bfloat16 x) {
  return decode(kBfloat16, x.bits);
}
inline double value_of(float16 x) {
  return decode(kFloat16, x.bits);
}

/// The nearest element of a storage type.
template <class S>
S stored(double x) {
  if constexpr (std::is_same_v<S, bfloat16>) {
    return {encode(kBfloat16, x)};
  } else if constexpr (std::is_same_v<S, float16>) {
    return {encode(kFloat16, x)};
  } else if constexpr (std::is_same_v<S, bool>) {
    return x != 0;
  } else {
    return static_cast<S>(x);
  }
}

/// Calls f.operator()<S>() with the C++ type of a storage type.
template <class F>
auto with_element(Type type, F&& f) {
  switch (type) {
    case Type::float64:
      return f.template operator()<double>();
    case Type::bfloat16:
      return f.template operator()<bfloat16>();
    case Type::float16:
      return f.template operator()<float16>();
    case Type::boolean:
      return f.template operator()<bool>();
    default:
      return f.template operator()<float>();
  }
}

/// Half of the distance from 1 to the next number, and from 0.
struct Rounding {
  double relative, absolute;
};
inline Rounding rounding_of(Type type) {
  switch (type) {
    case Type::bfloat16:
      return {0x1p-8, 0x1p-134};
    case Type::float16:
      return {0x1p-11, 0x1p-25};
    case Type::float64:
      return {0x1p-53, 0};
    default:
      return {0x1p-24, 0x1p-150};
  }
}

}  // namespace lookback::test
