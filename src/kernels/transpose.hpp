// Squares of rows turned into columns, in registers: what puts rows, or keys, into lanes. Inlined
// by force: compilers lose heart in files as large as ours, and a call would take the square to
// memory.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/simd.hpp"

namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA {

#if defined(__AVX512F__)
/// 16 x 16 floats: pairs within 128 bits, then quarters across the register.
[[gnu::always_inline]] inline void transpose_avx512(__m512 (&x)[16]) {
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

[[gnu::always_inline]] inline void transpose_avx512(__m512d (&x)[8]) {
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
[[gnu::always_inline]] inline void transpose_avx2(__m256 (&x)[8]) {
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

[[gnu::always_inline]] inline void transpose_avx2(__m256d (&x)[4]) {
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
[[gnu::always_inline]] inline void transpose_zips(Vec<T, A> (&x)[n]) {
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
[[gnu::always_inline]] inline void transpose_square(Vec<T, A> (&x)[n]) {
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

#if defined(__AVX512F__)
/// 8 columns of 16 rows of 32 bits each. Halves of two rows are put together by the loads, which
/// leaves 24 shuffles of 32; only one unit shuffles.
[[gnu::always_inline]] inline void load_eight_columns_avx512(const float* const (&row)[16],
                                                             __m512 (&column)[8]) {
  __m512 quad[2][4];  // per 8 rows, for c < 4: c of rows 0-3, c + 4 of them, both of rows 4-7
  for (int eight = 0; eight < 2; ++eight) {
    __m512 x[4];
    for (int i = 0; i < 4; ++i) {
      const float* const* r = row + 8 * eight + i;
      x[i] = _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(r[0])),
                                _mm256_loadu_ps(r[4]), 1);
    }
    for (int c = 0; c < 4; c += 2) {
      const __m512 above = c ? _mm512_unpackhi_ps(x[0], x[1]) : _mm512_unpacklo_ps(x[0], x[1]);
      const __m512 below = c ? _mm512_unpackhi_ps(x[2], x[3]) : _mm512_unpacklo_ps(x[2], x[3]);
      const __m512d a = _mm512_castps_pd(above), b = _mm512_castps_pd(below);
      quad[eight][c] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
      quad[eight][c + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
    }
  }
  for (int c = 0; c < 4; ++c) {
    column[c] = _mm512_shuffle_f32x4(quad[0][c], quad[1][c], 0x88);
    column[c + 4] = _mm512_shuffle_f32x4(quad[0][c], quad[1][c], 0xdd);
  }
}
#endif

/// Elements at .. at + n - 1 of n rows, turned so that rows lie in lanes: column[i] holds element
/// at + i of every row.
template <class S, class T, class A, int n>
[[gnu::always_inline]] inline void load_square(const S* const (&rows)[n], std::int64_t at,
                                               Vec<T, A> (&column)[n]) {
  static_assert(n == kLanes<T, A>);
#if defined(__AVX512F__)
  if constexpr (n == 16 && std::is_same_v<S, float>) {
    for (int half = 0; half < n; half += n / 2) {
      const float* row[n];
      for (int i = 0; i < n; ++i) row[i] = rows[i] + at + half;
      __m512 turned[n / 2];
      load_eight_columns_avx512(row, turned);
      for (int c = 0; c < n / 2; ++c) column[half + c] = Vec<T, A>(turned[c]);
    }
    return;
  } else if constexpr (n == 16 && std::is_same_v<S, bfloat16>) {
    // Pairs of features are turned as one, then widened: bfloat16 is the upper half of a float.
    const float* row[n];
    for (int i = 0; i < n; ++i) row[i] = reinterpret_cast<const float*>(rows[i] + at);
    __m512 pairs[n / 2];
    load_eight_columns_avx512(row, pairs);
    for (int c = 0; c < n / 2; ++c) {
      const __m512i pair = _mm512_castps_si512(pairs[c]);
      const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
      column[2 * c] = Vec<T, A>(_mm512_castsi512_ps(_mm512_slli_epi32(pair, 16)));
      column[2 * c + 1] = Vec<T, A>(_mm512_castsi512_ps(_mm512_and_si512(pair, upper)));
    }
    return;
  }
#endif
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) column[i] = load_widened<S, T, A>(rows[i] + at);
  transpose_square<T, A>(column);
}

}  // namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA
