// tanh for the softcap: the same correctly rounded operations on every machine.
#pragma once

#include "kernels/exp2.hpp"
#include "kernels/isa.hpp"
#include "kernels/simd.hpp"

namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA {

/// tanh x = x + x^3 * (c[0] + c[1] x^2 + ...) below `small`: minimax in relative error.
template <class T>
struct Tanh;

template <>
struct Tanh<float> {  // 1.5e-8
  static constexpr float c[] = {-0x1.5554d6p-2f, 0x1.10e9fcp-3f, -0x1.b28c78p-5f, 0x1.1a7c10p-6f};
  static constexpr float small = 0.5f;
  static constexpr int newton_steps = 3;  // 1/17 -> 3.5e-3 -> 1.2e-5 -> 1.4e-10
};

template <>
struct Tanh<double> {  // 2.6e-20
  static constexpr double c[] = {
      -0x1.5555555555555p-2, 0x1.1111111110e04p-3, -0x1.ba1ba1b994256p-5,  0x1.664f4827c6ccep-6,
      -0x1.226e13870a6dap-7, 0x1.d6c51cac68379p-9, -0x1.7bc6ea3c63100p-10, 0x1.148e9a56172b7p-11};
  static constexpr double small = 0.25;
  static constexpr int newton_steps = 4;
};

/// x = tanh x. Beyond `small`: (1 - t) / (1 + t), t = exp(-2 |x|). NaN for NaN, +-1 at infinity.
/// Step by step for all n, as exp2.
template <class T, class A, int n>
inline void tanh_of(Vec<T, A> (&x)[n]) {
  using V = Vec<T, A>;
  using C = Tanh<T>;
  V t[n], denominator[n], inverse[n];
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) t[i] = absolute<T, A>(x[i]) * V(T(-0x1.71547652b82fep+1));
  exp2_nonpositive<T, A>(t);
  // 1 / (1 + t), in [1/2, 1], from a straight line; a division would take the longest of all.
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) {
    denominator[i] = V(T(1)) + t[i];
    inverse[i] = multiply_add(denominator[i], V(T(-16.0 / 34.0)), V(T(48.0 / 34.0)));
  }
#pragma GCC unroll 4
  for (int step = 0; step < C::newton_steps; ++step) {
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) {
      const V error = multiply_add(-denominator[i], inverse[i], V(T(1)));
      inverse[i] = multiply_add(inverse[i], error, inverse[i]);
    }
  }
  constexpr int terms = sizeof(C::c) / sizeof(T);
  V series[n];
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) series[i] = V(C::c[terms - 1]);
#pragma GCC unroll 8
  for (int c = terms - 2; c >= 0; --c) {
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) series[i] = multiply_add(series[i], x[i] * x[i], V(C::c[c]));
  }
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) {
    const V magnitude = absolute<T, A>(x[i]), square = x[i] * x[i];
    const V large = (V(T(1)) - t[i]) * inverse[i];
    const V small = multiply_add(magnitude * square, series[i], magnitude);
    x[i] = with_sign<T, A>(choose(magnitude < V(C::small), small, large), x[i]);
  }
}

}  // namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA
