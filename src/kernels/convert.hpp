// Storage types to the compute type, exactly, and back, rounded to nearest even. Plain branch-free
// code on bit patterns, which compilers turn into vector code.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/isa.hpp"
#include "lookback/tensor.hpp"

namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA {

inline float widen_bits(bfloat16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}

inline float widen_bits(float16 x) {
  const std::uint32_t sign = (x.bits & 0x8000u) << 16, rest = x.bits & 0x7fffu;
  // The exponent is rebiased by 127 - 15, and once more for infinity and NaN.
  const std::uint32_t rebias = (rest >= 0x7c00u ? 2u : 1u) * (112u << 23);
  const std::uint32_t normal = (rest << 13) + rebias;
  // Subnormal: a multiple of 2^-24.
  const auto subnormal =
      std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(rest)) * 0x1p-24f);
  return std::bit_cast<float>(sign | (rest < 0x400u ? subnormal : normal));
}

template <class T, class S>
inline T widen(S x) {
  if constexpr (sizeof(S) == 2) {
    return widen_bits(x);
  } else {
    return static_cast<T>(x);
  }
}

inline void narrow_bits(float x, bfloat16& to) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet_nan = (bits >> 16) | 0x40u;
  to.bits = static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded);
}

inline void narrow_bits(float x, float16& to) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000u, rest = bits & 0x7fffffffu;
  const std::uint32_t normal = ((rest + 0xfffu + ((rest >> 13) & 1u)) >> 13) - (112u << 10);
  // Below 2^-14 the addition rounds to a multiple of 2^-24, the last place of 1/2.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0.5f) - 0x3f000000u;
  std::uint32_t result = rest < 0x38800000u ? subnormal : normal;
  result = rest >= 0x477ff000u ? 0x7c00u : result;  // 65520 and above round to infinity
  result = rest > 0x7f800000u ? 0x7e00u : result;
  to.bits = static_cast<std::uint16_t>(sign | result);
}

template <class T, class S>
inline void narrow(T x, S& to) {
  if constexpr (sizeof(S) == 2) {
    narrow_bits(static_cast<float>(x), to);
  } else {
    to = static_cast<S>(x);
  }
}

/// Calls f.operator()<S>() with the C++ type of a floating-point storage type.
template <class F>
inline auto with_storage(Type type, F&& f) {
  switch (type) {
    case Type::float64:
      return f.template operator()<double>();
    case Type::bfloat16:
      return f.template operator()<bfloat16>();
    case Type::float16:
      return f.template operator()<float16>();
    default:
      return f.template operator()<float>();
  }
}

/// The same for arrays that are computed with in T: float64 goes with float64 only.
template <class T, class F>
inline auto with_storage_of(Type type, F&& f) {
  if constexpr (sizeof(T) == sizeof(double)) {
    return f.template operator()<double>();
  } else {
    switch (type) {
      case Type::bfloat16:
        return f.template operator()<bfloat16>();
      case Type::float16:
        return f.template operator()<float16>();
      default:
        return f.template operator()<float>();
    }
  }
}

}  // namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA
