// The running softmax of a vector of rows: maximum of the scores seen, sum of their weights, and
// (kept by the caller, rescaled by the factors given here) the blend of their values. What an empty
// row is, and how states are joined, is defined here and nowhere else.
//
// Empty: max = -inf, sum = 0, blend = 0. max is only ever a score that was seen. NaN travels in the
// sum (and blend), never in a comparison, so "empty" is never said of a row that saw NaN.
#pragma once

#include "kernels/exp2.hpp"
#include "kernels/simd.hpp"

namespace lookback::kernels {

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

  /// The weight, not yet divided by the sum, of score s.
  static V weight(const V& s, const V& origin, const V& rate) {
    return exp2_nonpositive<T, A>((s - origin) * rate);
  }

  /// Folds in the state of later keys. mine and theirs are the factors for the two blends.
  void fold(const SoftmaxState& later, const V& rate, V& mine, V& theirs) {
    const V joint = larger(max, later.max);
    mine = factor(max, joint, rate);
    theirs = factor(later.max, joint, rate);
    sum = multiply_add(later.sum, theirs, sum * mine);
    max = joint;
  }

  /// What the blend is multiplied by in the end: 0 for an empty row. Elsewhere sum >= 1, or NaN.
  V inverse() const { return choose(sum == V(T(0)), V(T(0)), V(T(1)) / sum); }
};

/// max / T + ln sum: -inf for an empty row and only there.
template <class T>
inline T log_sum_exp(T max, T sum, double temperature) {
  if (sum == T(0)) return -kInfinity<T>;
  const double lse = static_cast<double>(max) / temperature + natural_log(static_cast<double>(sum));
  const T rounded = static_cast<T>(lse);
  return rounded == -kInfinity<T> ? std::numeric_limits<T>::lowest() : rounded;
}

}  // namespace lookback::kernels
