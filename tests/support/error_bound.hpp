// How far a result computed in T may lie from the exact one. Derived, not tuned. u is half an ulp:
//
// - A score is d fused multiply-adds on scale * q, rounded once; scale = 1/sqrt(d) is rounded
// twice:
//   |error of s_j| <= (d + 3) u * sum_c |scale q_c k_jc|, to first order.
// - Its exponential: the difference to the maximum, log2(e) / T (rounded twice) and their product
//   are rounded, which is worth 4 u |s_j - m| / T; the exponential itself is good to 4 u. A running
//   maximum rescales by factors that multiply to the same, one more such error for each key block.
// - l and the blend are sums over the keys of a chunk, then over chunks: N = 512 + n_k / 512
//   additions at most, N u each. Rescaling adds 6 u for each chunk and each block of at least 16
//   keys in one, N u at most. So (3 N + 16) u, division and last rounding included.
// - Together w_j carries a relative error e_j, and moves out by w_j e_j (|v_j| + |out|).
// - An exponential below the smallest normal number is 0: absolutely n_k times that number.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/attention.hpp"

namespace lookback::test {

using reference::Real;

struct RowBound {
  std::vector<Real> out;
  Real lse = 0;
};

/// The bound of query row i, whose exact result is row. Not finite where the row is not.
template <class T>
RowBound error_bound(const Tensor& q, const Tensor& k, const Tensor& v, const reference::Formula& f,
                     const reference::Row& row, std::int64_t b, std::int64_t h, std::int64_t i) {
  using reference::element;
  constexpr Real u = std::numeric_limits<T>::epsilon() / 2;
  constexpr Real kTiny = std::numeric_limits<T>::min();
  const std::int64_t n_k = k.extent[2], d = q.extent[3], d_v = v.extent[3];
  const std::int64_t kv_head = h / (q.extent[1] / k.extent[1]);
  const Real sums = static_cast<Real>(std::min<std::int64_t>(n_k, 512) + n_k / 512);
  RowBound bound{std::vector<Real>(row.out.size(), 0), 0};

  Real m = -std::numeric_limits<Real>::infinity();
  for (const Real s : row.score) m = std::fmax(m, s);
  Real total = 0;
  for (std::int64_t j = 0; j < n_k; ++j) {
    const auto at = static_cast<std::size_t>(j);
    if (std::isinf(row.score[at])) continue;
    Real magnitude = 0;
    for (std::int64_t c = 0; c < d; ++c)
      magnitude += std::fabs(f.scale * element<T>(q, b, h, i, c) * element<T>(k, b, kv_head, j, c));
    const Real exponent_error = (static_cast<Real>(d + 3) * u * magnitude) / f.temperature +
                                4 * u * (m - row.score[at]) / f.temperature;
    const Real e = row.weight[at] * std::expm1(exponent_error + (3 * sums + 16) * u);
    total += e;
    for (std::int64_t c = 0; c < d_v; ++c) {
      const auto to = static_cast<std::size_t>(c);
      const Real value = std::fabs(element<T>(v, b, kv_head, j, c));
      bound.out[to] += e * (value + std::fabs(row.out[to])) + kTiny * value;
    }
  }
  // Second order: weights that each move by e_j divide by a sum that moves by their total.
  const Real widen = total < 0.5L ? 1 / (1 - 2 * total) : std::numeric_limits<Real>::infinity();
  for (Real& error : bound.out) error *= widen;
  if (std::isfinite(row.lse))
    bound.lse = (total * widen) +
                u * (4 * std::fabs(m / f.temperature) + 4 * std::fabs(row.lse - m / f.temperature) +
                     std::fabs(row.lse)) +
                4 * u;
  return bound;
}

}  // namespace lookback::test
