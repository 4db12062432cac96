// tanh for the softcap: the same correctly rounded operations on every machine.
#pragma once

#include "kernels/exp2.hpp"
#include "kernels/simd.hpp"

namespace lookback::kernels {

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

/// Beyond `small`: (1 - t) / (1 + t), t = exp(-2 |x|). NaN for NaN, +-1 at infinity.
template <class T, class A>
inline Vec<T, A> tanh_of(const Vec<T, A>& x) {
  using V = Vec<T, A>;
  using C = Tanh<T>;
  const V magnitude = absolute<T, A>(x);
  const V t = exp2_nonpositive<T, A>(magnitude * V(T(-0x1.71547652b82fep+1)));
  // 1 / (1 + t), in [1/2, 1], from a straight line; a division would take the longest of all.
  const V denominator = V(T(1)) + t;
  V inverse = multiply_add(denominator, V(T(-16.0 / 34.0)), V(T(48.0 / 34.0)));
#pragma GCC unroll 4
  for (int i = 0; i < C::newton_steps; ++i) {
    const V error = multiply_add(-denominator, inverse, V(T(1)));
    inverse = multiply_add(inverse, error, inverse);
  }
  const V large = (V(T(1)) - t) * inverse;
  const V square = magnitude * magnitude;
  constexpr int terms = sizeof(C::c) / sizeof(T);
  V series = V(C::c[terms - 1]);
#pragma GCC unroll 8
  for (int i = terms - 2; i >= 0; --i) series = multiply_add(series, square, V(C::c[i]));
  const V small = multiply_add(magnitude * square, series, magnitude);
  return with_sign<T, A>(choose(magnitude < V(C::small), small, large), x);
}

}  // namespace lookback::kernels
