// Attention in extended precision, in the order of the formula: the oracle, never optimised.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "lookback/tensor.hpp"

namespace lookback::reference {

using Real = long double;

/// Query row i of query head h in batch b against key j.
struct Place {
  std::int64_t b, h, i, j;
};

struct Formula {
  Real scale = 1, temperature = 1;
  /// Softcap, ALiBi, bias and hook, in this order: each takes a score and gives the next.
  std::vector<std::function<Real(Real, const Place&)>> change_score;
  /// A key is visible if all of these say so.
  std::vector<std::function<bool(const Place&)>> visible;
  /// Takes weight and has no value; -inf is no sink.
  Real sink = -std::numeric_limits<Real>::infinity();
};

struct Row {
  std::vector<Real> score, weight, out;  // a hidden key has score -inf and weight 0
  Real lse;
};

template <class T>
Real element(const Tensor& x, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c) {
  const auto& s = x.stride;
  return static_cast<const T*>(x.data)[b * s[0] + h * s[1] + i * s[2] + c * s[3]];
}

/// One row; T is the element type of the tensors, which decides when an exponential is zero.
template <class T>
Row attend_row(const Tensor& q, const Tensor& k, const Tensor& v, const Formula& f, std::int64_t b,
               std::int64_t h, std::int64_t i) {
  constexpr Real kHidden = -std::numeric_limits<Real>::infinity();
  const std::int64_t n_k = k.extent[2], d = q.extent[3], d_v = v.extent[3];
  const std::int64_t kv_head = h / (q.extent[1] / k.extent[1]);
  Row row{std::vector<Real>(static_cast<std::size_t>(n_k), kHidden), {}, {}, kHidden};

  Real m = f.temperature * f.sink;
  for (std::int64_t j = 0; j < n_k; ++j) {
    const Place place{b, h, i, j};
    Real s = 0;
    for (std::int64_t c = 0; c < d; ++c)
      s += f.scale * element<T>(q, b, h, i, c) * element<T>(k, b, kv_head, j, c);
    for (const auto& change : f.change_score) s = change(s, place);
    for (const auto& sees : f.visible) s = sees(place) ? s : kHidden;
    row.score[static_cast<std::size_t>(j)] = s;
    if (s > m) m = s;
  }
  Real l = f.sink == kHidden ? 0 : std::exp(f.sink - m / f.temperature);
  for (const Real s : row.score) {
    Real e = s == kHidden ? 0 : std::exp((s - m) / f.temperature);
    if (e < std::numeric_limits<T>::min()) e = 0;
    row.weight.push_back(e);
    l += e;
  }
  for (Real& w : row.weight) w = l == 0 ? 0 : w / l;
  for (std::int64_t c = 0; c < d_v; ++c) {
    Real sum = 0;
    for (std::int64_t j = 0; j < n_k; ++j)
      if (row.score[static_cast<std::size_t>(j)] != kHidden)
        sum += row.weight[static_cast<std::size_t>(j)] * element<T>(v, b, kv_head, j, c);
    row.out.push_back(sum);
  }
  if (l != 0) row.lse = m / f.temperature + std::log(l);
  return row;
}

}  // namespace lookback::reference
