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

namespace lookback::kernels {

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

/// Fetches the cache line at p into L2, if there is memory at p.
inline void prefetch(const void* p) {
  __builtin_prefetch(p, 0, 2);
}

/// Bit i decides lane i.
template <class T, class A>
inline Mask<T, A> mask_of_bits(std::uint64_t bits) {
#if defined(__AVX512F__)
  if constexpr (is_avx512<A>) {
    return Mask<T, A>(static_cast<typename Mask<T, A>::register_type>(bits));
  }
#endif
  using Int = xsimd::batch<IntOf<T>, A>;
  constexpr int n = kLanes<T, A>;
  alignas(64) IntOf<T> lane_bit[n];
  for (int i = 0; i < n; ++i) lane_bit[i] = IntOf<T>{1} << i;
  const Int lane = Int::load_unaligned(lane_bit);
  const auto set =
      (Int(static_cast<IntOf<T>>(bits & ((std::uint64_t{1} << n) - 1))) & lane) == lane;
#if XSIMD_VERSION_MAJOR < 10
  return xsimd::bool_cast(set);
#else
  return xsimd::batch_bool_cast<T>(set);
#endif
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

#if defined(__AVX512F__)
/// 16 x 16 floats: pairs within 128 bits, then quarters across the register.
inline void transpose_avx512(__m512 (&x)[16]) {
  __m512 a[16], b[16];
  for (int i = 0; i < 16; i += 2) {
    a[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
    a[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {  // b[i + c]: column c of rows i .. i+3, in each quarter
    for (int h = 0; h < 2; ++h) {
      const __m512d low = _mm512_castps_pd(a[i + h]), high = _mm512_castps_pd(a[i + 2 + h]);
      b[i + 2 * h] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, high));
      b[i + 2 * h + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, high));
    }
  }
  for (int c = 0; c < 4; ++c) {
    const __m512 even_low = _mm512_shuffle_f32x4(b[c], b[4 + c], 0x88);
    const __m512 odd_low = _mm512_shuffle_f32x4(b[c], b[4 + c], 0xdd);
    const __m512 even_high = _mm512_shuffle_f32x4(b[8 + c], b[12 + c], 0x88);
    const __m512 odd_high = _mm512_shuffle_f32x4(b[8 + c], b[12 + c], 0xdd);
    x[c] = _mm512_shuffle_f32x4(even_low, even_high, 0x88);
    x[8 + c] = _mm512_shuffle_f32x4(even_low, even_high, 0xdd);
    x[4 + c] = _mm512_shuffle_f32x4(odd_low, odd_high, 0x88);
    x[12 + c] = _mm512_shuffle_f32x4(odd_low, odd_high, 0xdd);
  }
}

inline void transpose_avx512(__m512d (&x)[8]) {
  __m512d a[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = _mm512_unpacklo_pd(x[i], x[i + 1]);
    a[i + 1] = _mm512_unpackhi_pd(x[i], x[i + 1]);
  }
  for (int c = 0; c < 2; ++c) {
    const __m512d even_low = _mm512_shuffle_f64x2(a[c], a[2 + c], 0x88);
    const __m512d odd_low = _mm512_shuffle_f64x2(a[c], a[2 + c], 0xdd);
    const __m512d even_high = _mm512_shuffle_f64x2(a[4 + c], a[6 + c], 0x88);
    const __m512d odd_high = _mm512_shuffle_f64x2(a[4 + c], a[6 + c], 0xdd);
    x[c] = _mm512_shuffle_f64x2(even_low, even_high, 0x88);
    x[4 + c] = _mm512_shuffle_f64x2(even_low, even_high, 0xdd);
    x[2 + c] = _mm512_shuffle_f64x2(odd_low, odd_high, 0x88);
    x[6 + c] = _mm512_shuffle_f64x2(odd_low, odd_high, 0xdd);
  }
}
#endif

#if defined(__AVX2__)
inline void transpose_avx2(__m256 (&x)[8]) {
  __m256 a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = _mm256_unpacklo_ps(x[i], x[i + 1]);
    a[i + 1] = _mm256_unpackhi_ps(x[i], x[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int h = 0; h < 2; ++h) {
      b[i + 2 * h] = _mm256_shuffle_ps(a[i + h], a[i + 2 + h], 0x44);
      b[i + 2 * h + 1] = _mm256_shuffle_ps(a[i + h], a[i + 2 + h], 0xee);
    }
  }
  for (int c = 0; c < 4; ++c) {
    x[c] = _mm256_permute2f128_ps(b[c], b[4 + c], 0x20);
    x[4 + c] = _mm256_permute2f128_ps(b[c], b[4 + c], 0x31);
  }
}

inline void transpose_avx2(__m256d (&x)[4]) {
  __m256d a[4];
  for (int i = 0; i < 4; i += 2) {
    a[i] = _mm256_unpacklo_pd(x[i], x[i + 1]);
    a[i + 1] = _mm256_unpackhi_pd(x[i], x[i + 1]);
  }
  for (int c = 0; c < 2; ++c) {
    x[c] = _mm256_permute2f128_pd(a[c], a[2 + c], 0x20);
    x[2 + c] = _mm256_permute2f128_pd(a[c], a[2 + c], 0x31);
  }
}
#endif

/// log2(n) perfect shuffles: what xsimd can express where its zips span the whole register.
template <class T, class A, int n>
inline void transpose_zips(Vec<T, A> (&x)[n]) {
  for (int stage = 1; stage < n; stage *= 2) {
    Vec<T, A> y[n];
    for (int i = 0; i < n / 2; ++i) {
      y[2 * i] = xsimd::zip_lo(x[i], x[i + n / 2]);
      y[2 * i + 1] = xsimd::zip_hi(x[i], x[i + n / 2]);
    }
    for (int i = 0; i < n; ++i) x[i] = y[i];
  }
}

/// Rows become columns: x[i][j] -> x[j][i], in registers.
template <class T, class A, int n>
inline void transpose_square(Vec<T, A> (&x)[n]) {
  static_assert(n == kLanes<T, A>);
  using Register = typename Vec<T, A>::register_type;
  if constexpr (sizeof(Register) == 16) {
    transpose_zips<T, A>(x);
  } else {
    Register r[n];
    for (int i = 0; i < n; ++i) r[i] = x[i];
#if defined(__AVX512F__)
    transpose_avx512(r);
#elif defined(__AVX2__)
    transpose_avx2(r);
#endif
    for (int i = 0; i < n; ++i) x[i] = Vec<T, A>(r[i]);
  }
}

}  // namespace lookback::kernels
