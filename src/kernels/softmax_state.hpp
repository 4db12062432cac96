// The running softmax of a vector of rows: maximum of the scores seen, sum of their weights, and
// (kept by the caller, rescaled by the factors given here) the blend of their values. What an empty
// row is, and how states are joined, is defined here and nowhere else.
//
// Empty: max = -inf, sum = 0, blend = 0. max is only ever a score that was seen. NaN travels in the
// sum (and blend), never in a comparison, so "empty" is never said of a row that saw NaN.
#pragma once

#include "kernels/exp2.hpp"
#include "kernels/isa.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/natural_log.hpp"
#include "kernels/simd.hpp"

namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA {

template <class T, class A>
struct SoftmaxState {
  using V = Vec<T, A>;
  V max;
  V sum;

  static SoftmaxState empty() { return {V(-kInfinity<T>), V(T(0))}; }
  static SoftmaxState at(const T* max, const T* sum) { return {load<T, A>(max), load<T, A>(sum)}; }
  void put(T* max_, T* sum_) const {
    store<T, A>(max_, max);
    store<T, A>(sum_, sum);
  }

  /// The factor for sums taken relative to `before` when the maximum has become `after`.
  static V factor(const V& before, const V& after, const V& rate) {
    // Nothing finite was summed under -inf; 1 keeps a zero or a NaN as it is.
    return choose(before == V(-kInfinity<T>), V(T(1)),
                  exp2_nonpositive<T, A>((before - after) * rate));
  }

  /// Takes in the maximum of the next block. Returns the factor for the blend.
  V raise(const V& block_max, const V& rate) {
    const V raised = larger(max, block_max);
    const V f = factor(max, raised, rate);
    max = raised;
    sum = sum * f;
    return f;
  }

  /// What scores are taken relative to: the maximum, or 0 where every score so far was -inf.
  V origin() const { return choose(max == V(-kInfinity<T>), V(T(0)), max); }

  /// Scores become weights, not yet divided by the sum.
  template <int n>
  [[gnu::always_inline]] static void weigh(V (&s)[n], const V (&origin)[n], const V& rate) {
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) s[i] = (s[i] - origin[i]) * rate;
    exp2_nonpositive<T, A>(s);
  }

  /// Folds in the state of later keys. mine and theirs are the factors for the two blends.
  void fold(const SoftmaxState& later, const V& rate, V& mine, V& theirs) {
    const V joint = larger(max, later.max);
    mine = factor(max, joint, rate);
    theirs = factor(later.max, joint, rate);
    sum = multiply_add(later.sum, theirs, sum * mine);
    max = joint;
  }
};

/// Rows that have seen nothing.
template <class T, class A>
inline void clear_sums(const State<T>& state, std::int64_t padded_rows) {
  for (std::int64_t r = 0; r < padded_rows; r += kLanes<T, A>) {
    SoftmaxState<T, A>::empty().put(state.max + r, state.sum + r);
  }
}
template <class T, class A>
inline void clear_blend(T* blend, std::int64_t n) {
  for (T* const end = blend + n; blend < end; blend += kLanes<T, A>) {
    store<T, A>(blend, Vec<T, A>(T(0)));
  }
}
template <class T, class A>
inline void clear_state(const State<T>& state, const Sizes& sizes) {
  clear_sums<T, A>(state, sizes.padded_rows);
  clear_blend<T, A>(state.blend, sizes.padded_rows * sizes.blend_stride);
}

/// A row's end: what its blend is multiplied by, and its log-sum-exp.
template <class T>
struct RowEnd {
  T inverse;
  T lse;
};

/// What a row's blend is multiplied by in the end: 0 if it is empty. Elsewhere sum >= 1, or NaN.
template <class T>
inline T inverse_of(T sum) {
  return sum == T(0) ? T(0) : T(1) / sum;
}

/// lse never says "empty" of a row that is not: below the type's range it is the lowest number.
template <class T>
inline T lse_of(double lse) {
  const T rounded = static_cast<T>(lse);
  return rounded == -kInfinity<T> ? std::numeric_limits<T>::lowest() : rounded;
}

template <class T>
inline T log_sum_exp(T max, T sum, double temperature) {
  if (sum == T(0)) return -kInfinity<T>;
  return lse_of<T>(static_cast<double>(max) / temperature + natural_log(static_cast<double>(sum)));
}

/// The end of a row with a sink: one more weight exp(sink - m / T) in the sum, with no value. In
/// double, where T * sink or m / T would leave the range of float. A sink of -inf is none.
template <class T, class A>
inline RowEnd<T> end_with_sink(T max, T sum, double temperature, double sink) {
  using D = Vec<double, A>;
  constexpr double log2_e = 0x1.71547652b82fep+0;
  const double keys = static_cast<double>(max) / temperature;
  const double joint = keys > sink ? keys : sink;
  alignas(64) double of_keys[kLanes<double, A>], of_sink[kLanes<double, A>];
  store<double, A>(of_keys, exp2_nonpositive<double, A>(D((keys - joint) * log2_e)));
  store<double, A>(of_sink, exp2_nonpositive<double, A>(D((sink - joint) * log2_e)));
  // Weights that would be subnormal in T are 0, as they are without a sink.
  constexpr double smallest = std::numeric_limits<T>::min();
  const double share = of_keys[0] < smallest ? 0 : of_keys[0];
  const double total = static_cast<double>(sum) * share + of_sink[0];
  const double inverse = share / total;
  return {static_cast<T>(inverse < smallest ? 0 : inverse), lse_of<T>(joint + natural_log(total))};
}

}  // namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA
