// The only door to xsimd: its versions, its traps, and the few intrinsics it has no word for.
// Kernels use Vec<T, A> and the free functions below, and nothing else of xsimd.
#pragma once

#if defined(__FAST_MATH__)
#error "kernels must not be compiled with -ffast-math: NaN, infinity and the order of sums matter"
#endif

#include <cstdint>
#include <limits>
#include <type_traits>
#include <xsimd/xsimd.hpp>

#include "kernels/convert.hpp"
#include "kernels/isa.hpp"

namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA {

template <class T, class A>
using Vec = xsimd::batch<T, A>;
template <class T, class A>
using Mask = xsimd::batch_bool<T, A>;
template <class T>
using IntOf = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

template <class T, class A>
inline constexpr int kLanes = static_cast<int>(Vec<T, A>::size);

template <class A>
inline constexpr bool is_avx512 = std::is_base_of_v<xsimd::avx512f, A>;
template <class A>
inline constexpr bool is_avx2 = std::is_base_of_v<xsimd::avx2, A>;

/// 32 vector registers (AVX-512, AArch64) or 16: what tile sizes follow from.
#if defined(__aarch64__)
template <class A>
inline constexpr int kRegisters = 32;
#else
template <class A>
inline constexpr int kRegisters = is_avx512<A> ? 32 : 16;
#endif

template <class T, class A>
inline Vec<T, A> load(const T* p) {
  return Vec<T, A>::load_unaligned(p);
}
template <class T, class A>
inline void store(T* p, const Vec<T, A>& x) {
  x.store_unaligned(p);
}

/// a * b + c, rounded once where the machine can.
template <class T, class A>
inline Vec<T, A> multiply_add(const Vec<T, A>& a, const Vec<T, A>& b, const Vec<T, A>& c) {
#if XSIMD_VERSION_MAJOR < 11 && defined(__AVX512F__)
  // xsimd before 11 has no fused kernel for AVX-512 and would round twice.
  if constexpr (is_avx512<A> && std::is_same_v<T, float>) {
    return Vec<T, A>(_mm512_fmadd_ps(a, b, c));
  } else if constexpr (is_avx512<A>) {
    return Vec<T, A>(_mm512_fmadd_pd(a, b, c));
  } else {
    return xsimd::fma(a, b, c);
  }
#else
  return xsimd::fma(a, b, c);
#endif
}

/// a / b, correctly rounded: xsimd 8.1's division of floats on NEON is an estimate.
template <class T, class A>
inline Vec<T, A> divide(const Vec<T, A>& a, const Vec<T, A>& b) {
#if defined(__aarch64__)
  if constexpr (std::is_same_v<T, float>) return Vec<T, A>(vdivq_f32(a, b));
#endif
  return a / b;
}

/// The larger one; which operand NaN loses to differs between machines, so no result may depend on
/// it: NaN travels in the sums.
template <class T, class A>
inline Vec<T, A> larger(const Vec<T, A>& a, const Vec<T, A>& b) {
  return xsimd::max(a, b);
}

template <class T, class A>
inline Vec<T, A> choose(const Mask<T, A>& mask, const Vec<T, A>& yes, const Vec<T, A>& no) {
  return xsimd::select(mask, yes, no);
}

/// The larger one, or NaN if either is.
template <class T, class A>
inline Vec<T, A> larger_or_nan(const Vec<T, A>& a, const Vec<T, A>& b) {
  // Not a != a, which xsimd 8.1 calls false for NaN.
  return choose<T, A>(a == a, choose<T, A>(b <= a, a, b), a);
}
template <class T>
inline T larger_or_nan(T a, T b) {
  return b <= a || a != a ? a : b;
}

/// The bits of x shifted left, as a float again.
template <int Bits, class T, class A>
inline Vec<T, A> shift_bits_left(const Vec<T, A>& x) {
#if XSIMD_VERSION_MAJOR < 9
  using Int = xsimd::batch<IntOf<T>, A>;
  return xsimd::bitwise_cast<Vec<T, A>>(xsimd::bitwise_cast<Int>(x) << Bits);
#else
  return xsimd::bitwise_cast<T>(xsimd::bitwise_cast<IntOf<T>>(x) << Bits);
#endif
}

/// x, but 0 where the mask is set.
template <class T, class A>
inline Vec<T, A> zero_where(const Mask<T, A>& mask, const Vec<T, A>& x) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  // GCC 12 compares twice to choose between zero and something.
  if constexpr (std::is_same_v<T, float>) {
    return Vec<T, A>(_mm256_andnot_ps(mask, x));
  } else {
    return Vec<T, A>(_mm256_andnot_pd(mask, x));
  }
#else
  return choose(mask, Vec<T, A>(T(0)), x);
#endif
}

/// 0 where x < low, whatever the rest is; elsewhere, and where x is NaN, a * 2^exponent, which must
/// be normal or NaN. biased holds the exponent plus the type's bias in its low bits.
template <class T, class A>
inline Vec<T, A> scale_unless_below(const Vec<T, A>& x, const Vec<T, A>& low, const Vec<T, A>& a,
                                    [[maybe_unused]] const Vec<T, A>& exponent,
                                    [[maybe_unused]] const Vec<T, A>& biased) {
#if defined(__AVX512F__)
  if constexpr (is_avx512<A> && std::is_same_v<T, float>) {
    return Vec<T, A>(_mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, low, _CMP_NLT_UQ), a, exponent));
  } else if constexpr (is_avx512<A>) {
    return Vec<T, A>(_mm512_maskz_scalef_pd(_mm512_cmp_pd_mask(x, low, _CMP_NLT_UQ), a, exponent));
  }
#endif
  // A multiplication and not an addition to the exponent, because it keeps NaN.
  return zero_where(x < low, a * shift_bits_left<std::numeric_limits<T>::digits - 1>(biased));
}

/// x = 2^exponent * mantissa, mantissa in [1, 2), for positive normal x. NaN has a NaN mantissa.
template <class T, class A>
inline void split_exponent(const Vec<T, A>& x, Vec<T, A>& exponent, Vec<T, A>& mantissa) {
  constexpr int n = kLanes<T, A>;
  alignas(64) T lane[n], e[n], m[n];
  store<T, A>(lane, x);
  constexpr int bits = sizeof(T) == 4 ? 23 : 52, bias = sizeof(T) == 4 ? 127 : 1023;
  for (int i = 0; i < n; ++i) {  // compilers make vector code of this
    IntOf<T> word;
    __builtin_memcpy(&word, &lane[i], sizeof word);
    const IntOf<T> fraction = word & ((IntOf<T>{1} << bits) - 1);
    const IntOf<T> one = IntOf<T>{bias} << bits;
    const IntOf<T> together = fraction | one;
    e[i] = static_cast<T>(static_cast<std::int32_t>((word >> bits) - bias));
    __builtin_memcpy(&m[i], &together, sizeof together);
  }
  exponent = load<T, A>(e);
  mantissa = choose(x == x, load<T, A>(m), x);
}

/// Makes the compiler keep x in a register, where GCC would fold its load into every use.
template <class T, class A>
inline void keep_in_register(Vec<T, A>& x) {
#if defined(__AVX512F__)
  __asm__("" : "+v"(x.data));
#elif defined(__SSE2__)
  __asm__("" : "+x"(x.data));
#elif defined(__aarch64__)
  __asm__("" : "+w"(x.data));
#endif
}

template <class T>
inline constexpr T kInfinity = std::numeric_limits<T>::infinity();

/// 16-bit floats to float32 in registers: GCC's own widening goes through memory.
template <class A, class S>
inline Vec<float, A> load_16_bit(const S* from) {
  [[maybe_unused]] constexpr bool is_half = std::is_same_v<S, float16>;
#if defined(__AVX512F__)
  if constexpr (is_avx512<A>) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    if constexpr (is_half) return Vec<float, A>(_mm512_cvtph_ps(x));
    return Vec<float, A>(_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16)));
  }
#elif defined(__AVX2__) && defined(__F16C__)
  if constexpr (is_avx2<A>) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    if constexpr (is_half) return Vec<float, A>(_mm256_cvtph_ps(x));
    return Vec<float, A>(_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16)));
  }
#elif defined(__aarch64__)
  if constexpr (kLanes<float, A> == 4) {
    const uint16x4_t x = vld1_u16(reinterpret_cast<const std::uint16_t*>(from));
    if constexpr (is_half) return Vec<float, A>(vcvt_f32_f16(vreinterpret_f16_u16(x)));
    return Vec<float, A>(vreinterpretq_f32_u32(vshll_n_u16(x, 16)));
  }
#endif
  constexpr int n = kLanes<float, A>;
  alignas(64) float to[n];
  for (int i = 0; i < n; ++i) to[i] = widen_bits(from[i]);
  return load<float, A>(to);
}

/// A vector of consecutive elements.
template <class S, class T, class A>
inline Vec<T, A> load_widened(const S* from) {
  if constexpr (std::is_same_v<S, T>) {
    return load<T, A>(from);
  } else if constexpr (std::is_same_v<T, float> && sizeof(S) == 2) {
    return load_16_bit<A>(from);
  } else {
    alignas(64) T to[kLanes<T, A>];
    for (int i = 0; i < kLanes<T, A>; ++i) to[i] = widen<T>(from[i]);
    return load<T, A>(to);
  }
}

inline constexpr std::int64_t kCacheLine = 64;

/// Fetches the cache line at p into L2, if there is memory at p.
[[gnu::always_inline]] inline void prefetch(const void* p) {
  __builtin_prefetch(p, 0, 2);
}
/// The same into L1.
[[gnu::always_inline]] inline void prefetch_near(const void* p) {
  __builtin_prefetch(p, 0, 3);
}

template <class T, class A>
using IntVec = xsimd::batch<IntOf<T>, A>;

/// The lanes of `words` that have the bit that is set in `bit`.
template <class T, class A>
inline Mask<T, A> has_bit(const IntVec<T, A>& words, const IntVec<T, A>& bit) {
#if defined(__AVX512F__)
  if constexpr (is_avx512<A> && sizeof(T) == 4) {
    return Mask<T, A>(_mm512_test_epi32_mask(words, bit));
  } else if constexpr (is_avx512<A>) {
    return Mask<T, A>(_mm512_test_epi64_mask(words, bit));
  }
#endif
#if XSIMD_VERSION_MAJOR < 10
  return xsimd::bool_cast((words & bit) == bit);
#else
  return xsimd::batch_bool_cast<T>((words & bit) == bit);
#endif
}

/// Bit i decides lane i.
template <class T, class A>
inline Mask<T, A> mask_of_bits(std::uint64_t bits) {
#if defined(__AVX512F__)
  if constexpr (is_avx512<A>) {
    return Mask<T, A>(static_cast<typename Mask<T, A>::register_type>(bits));
  }
#endif
  constexpr int n = kLanes<T, A>;
  alignas(64) IntOf<T> lane_bit[n];
  for (int i = 0; i < n; ++i) lane_bit[i] = IntOf<T>{1} << i;
  return has_bit<T, A>(IntVec<T, A>(static_cast<IntOf<T>>(bits & ((std::uint64_t{1} << n) - 1))),
                       IntVec<T, A>::load_unaligned(lane_bit));
}

/// Bit i: byte i of 64 is not 0.
template <class A>
inline std::uint64_t nonzero_bits_64(const std::uint8_t* bytes) {
#if defined(__AVX512BW__)
  if constexpr (is_avx512<A>) {
    const __m512i x = _mm512_loadu_si512(bytes);
    return _mm512_test_epi8_mask(x, x);
  }
#elif defined(__SSE2__)
  std::uint64_t zeros = 0;
  for (int i = 0; i < 4; ++i) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i);
    const int zero = _mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_setzero_si128()));
    zeros |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(zero)) << (16 * i);
  }
  return ~zeros;
#endif
  std::uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) {
    std::uint64_t x;
    __builtin_memcpy(&x, bytes + 8 * i, 8);
    // 0x80 in every byte that is not 0, then those eight bits side by side.
    const std::uint64_t low = 0x7f7f7f7f7f7f7f7f;
    const std::uint64_t high = ((((x & low) + low) | x) & ~low) >> 7;
    bits |= ((high * 0x0102040810204080) >> 56) << (8 * i);
  }
  return bits;
}

template <class T, class A>
inline Vec<T, A> absolute(const Vec<T, A>& x) {
  return xsimd::abs(x);
}

/// The magnitude of x with the sign of `sign`; x is not negative.
template <class T, class A>
inline Vec<T, A> with_sign(const Vec<T, A>& x, const Vec<T, A>& sign) {
  return x | (sign & Vec<T, A>(T(-0.0)));
}

}  // namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA
