// 2^x for x <= 0, and w ln w: the same correctly rounded operations on every machine.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/simd.hpp"

namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA {

/// 2^f = 1 + f * c[0] + f^2 * c[1] + ... on [-1/2, 1/2]: minimax polynomials in relative error
/// whose constant term is exactly 1, so that the largest score of a row has weight exactly 1.
template <class T>
struct Exp2;

template <>
struct Exp2<float> {  // 2.6e-9 before rounding, at most 1.01 ulp after
  static constexpr float c[] = {0x1.62e432p-1f, 0x1.ebfbe2p-3f,  0x1.c6ae72p-5f,
                                0x1.3b270ep-7f, 0x1.5f7276p-10f, 0x1.470b4ap-13f};
  static constexpr float smallest = -126;
  static constexpr float round = 0x1.8p23f + 127;  // leaves round(x) + 127 in the low bits
};

template <>
struct Exp2<double> {  // 1.8e-17 before rounding
  static constexpr double c[] = {
      0x1.62e42fefa39f3p-1,  0x1.ebfbdff82c598p-3,  0x1.c6b08d7048f31p-5,  0x1.3b2ab6fba1e1cp-7,
      0x1.5d87fe7bbbe54p-10, 0x1.43091309611b8p-13, 0x1.ffcbee3af48b0p-17, 0x1.62bfd49ebfb96p-20,
      0x1.b54167ce0934bp-24, 0x1.e605f99bf7beap-28, 0x1.c06342a55c055p-32};
  static constexpr double smallest = -1022;
  static constexpr double round = 0x1.8p52 + 1023;
};

/// x = 2^x for x <= 0. Exactly 1 at 0, exactly 0 where the result would be subnormal, NaN for NaN.
/// Step by step for all n: one after the other, the machine would wait for the chain of each.
template <class T, class A, int n>
[[gnu::always_inline]] inline void exp2_nonpositive(Vec<T, A> (&x)[n]) {
  using E = Exp2<T>;
  using V = Vec<T, A>;
  constexpr int terms = sizeof(E::c) / sizeof(T);
  V shifted[n], whole[n], fraction[n], power[n];
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) shifted[i] = x[i] + V(E::round);
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) whole[i] = shifted[i] - V(E::round);
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) fraction[i] = x[i] - whole[i];
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) {
    power[i] = multiply_add(V(E::c[terms - 1]), fraction[i], V(E::c[terms - 2]));
  }
#pragma GCC unroll 16
  for (int t = terms - 3; t >= -1; --t) {
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) {
      power[i] = multiply_add(power[i], fraction[i], V(t < 0 ? T(1) : E::c[t < 0 ? 0 : t]));
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) {
    x[i] = scale_unless_below(x[i], V(E::smallest), power[i], whole[i], shifted[i]);
  }
}

template <class T, class A>
inline Vec<T, A> exp2_nonpositive(const Vec<T, A>& x) {
  Vec<T, A> one[1] = {x};
  exp2_nonpositive<T, A>(one);
  return one[0];
}

/// w ln w for w in [0, 1] that is 0 or normal; 0 at 0, NaN for NaN. ln w = e ln 2 + 2 artanh(t),
/// t = (m - 1) / (m + 1) for w = 2^e m, m in [1, 2), as a power series: t is at most 1/3.
template <class T, class A>
inline Vec<T, A> times_log(const Vec<T, A>& w) {
  using V = Vec<T, A>;
  V exponent, m;
  split_exponent<T, A>(w, exponent, m);
  const V t = divide<T, A>(m - V(T(1)), m + V(T(1))), square = t * t;
  constexpr int terms = sizeof(T) == 4 ? 8 : 17;  // (1/3)^(2 terms) below the last place
  V series(T(0));
#pragma GCC unroll 17
  for (int k = terms; k >= 1; --k) series = (series + V(T(2.0 / (2 * k + 1)))) * square;
  const V log = multiply_add(exponent, V(T(0x1.62e42fefa39efp-1)), t * (V(T(2)) + series));
  return choose(w == V(T(0)), V(T(0)), w * log);
}

}  // namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA
