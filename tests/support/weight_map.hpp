// The alignment matrix of an AnyProblem in extended precision, whole, and how far what the engine
// computes in T may lie from it.
#pragma once

#include <algorithm>
#include <vector>

#include "lookback/align.hpp"
#include "support/any_problem.hpp"
#include "support/compare.hpp"
#include "support/view_request.hpp"

namespace lookback::test {

/// The scores of one row on their way, and how far off each may be.
struct ScoreRow {
  std::vector<Real> score, bound;
};

/// Weights [n_q, n_k] of a head, or reduced over heads.
struct WeightMap {
  std::int64_t n_q, n_k;
  std::vector<Real> weight, bound;
  std::vector<char> visible;
  std::vector<char> is_nan;  // per row: in some head, a score it sees is NaN

  WeightMap(std::int64_t rows, std::int64_t keys)
      : n_q(rows),
        n_k(keys),
        weight(static_cast<std::size_t>(rows * keys)),
        bound(weight.size()),
        visible(weight.size()),
        is_nan(static_cast<std::size_t>(rows)) {}
  std::size_t at(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(i * n_k + j);
  }
};

inline Real nan_or_larger(Real a, Real b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<Real>::quiet_NaN() : std::fmax(a, b);
}

/// The bounds are those of support/any_reference.hpp, kept per key. u is half an ulp of T:
/// - the dot product is off by (d + 3) u sum_c |scale q_c k_jc|; a softcap adds 16 u |s'|, ALiBi
///   u (2 |slope distance| + |s'|), without a fused multiply-add; a bias or hook that adds u |s'|;
/// - a weight is off by the factor exp((error of s + 4 u (m - s)) / T + (3 N + 16) u), N being the
///   additions in the sum over keys, and by what the sum is off; where it underflows, by the
///   smallest normal number, once for the exponential and once for its product with 1 / sum;
/// - a mean over H heads by H + 2 roundings more.
template <class T>
class WeightReference {
 public:
  static constexpr Real u = std::numeric_limits<T>::epsilon() / 2;
  static constexpr Real kTiny = std::numeric_limits<T>::min();
  static constexpr Real kInf = std::numeric_limits<Real>::infinity();

  explicit WeightReference(const AnyProblem& p) : p_(p) {}

  /// Every key, padding included, at a stage before the weights.
  ScoreRow scores(const AnyProblem::Sequence& s, std::int64_t h, std::int64_t i,
                  Stage stage) const {
    ScoreRow row;
    for (std::int64_t j = 0; j < s.n_k; ++j) {
      Scored x = scaled(s, h, i, j);
      if (stage != Stage::scaled && p_.softcap) cap(x);
      if (stage == Stage::final) add_terms(s, h, i, j, x);
      row.score.push_back(x.score);
      row.bound.push_back(x.bound);
    }
    return row;
  }

  WeightMap map(const AnyProblem::Sequence& s, std::int64_t h) const {
    WeightMap map(s.n_q, s.n_k);
    for (std::int64_t i = 0; i < s.n_q; ++i) weigh(s, h, i, map);
    return map;
  }

  WeightMap reduced(const AnyProblem::Sequence& s, bool by_max) const {
    WeightMap all(s.n_q, s.n_k);
    const Real H = static_cast<Real>(p_.H());
    for (std::int64_t h = 0; h < p_.H(); ++h) {
      const WeightMap one = map(s, h);
      for (std::size_t x = 0; x < all.weight.size(); ++x) {
        all.visible[x] |= one.visible[x];
        if (by_max) {
          all.weight[x] = nan_or_larger(all.weight[x], one.weight[x]);
          all.bound[x] = std::max(all.bound[x], one.bound[x]);
        } else {
          all.weight[x] += one.weight[x] / H;
          all.bound[x] += (one.bound[x] + (H + 2) * u * one.weight[x]) / H + kTiny;
        }
      }
      for (std::size_t i = 0; i < all.is_nan.size(); ++i) all.is_nan[i] |= one.is_nan[i];
    }
    return all;
  }

 private:
  struct Scored {
    Real score = 0, bound = 0;
  };

  Scored scaled(const AnyProblem::Sequence& s, std::int64_t h, std::int64_t i,
                std::int64_t j) const {
    const std::int64_t d = p_.q.extent(3), kv_head = p_.kv_head(h);
    const Real scale = p_.scale ? Real(*p_.scale) : 1 / std::sqrt(Real(d));
    Scored x;
    for (std::int64_t c = 0; c < d; ++c) {
      const Real product = scale * p_.q.get(s.batch, h, s.first_q + i, c) *
                           p_.k.get(s.batch, kv_head, s.first_k + j, c);
      x.score += product;
      x.bound += std::fabs(product);
    }
    x.bound *= static_cast<Real>(d + 3) * u;
    return x;
  }

  void cap(Scored& x) const {
    const Real c = *p_.softcap;
    x.score = c * std::tanh(x.score / c);
    x.bound += 16 * u * std::fabs(x.score);
  }

  /// Up to where hidden keys are -inf.
  void add_terms(const AnyProblem::Sequence& s, std::int64_t h, std::int64_t i, std::int64_t j,
                 Scored& x) const {
    if (p_.alibi) {
      const Real term = p_.slope(s.index, h) * std::fabs(Real(i + s.offset - j));
      x.score -= term;
      x.bound += u * (2 * std::fabs(term) + std::fabs(x.score));
    }
    if (p_.bias) {
      const Real bias = p_.bias_at(s.batch, h, i, j);
      x.score = bias == -kInf ? -kInf : x.score + bias;
      x.bound += std::isinf(x.score) ? 0 : u * std::fabs(x.score);
    }
    if (p_.hook) {
      x.score = p_.hook->changed(x.score, p_.hook_place(s, h, i, j));
      if (p_.hook->kind == TestHook::Kind::halve) {
        x.bound /= 2;
      } else if (p_.hook->kind == TestHook::Kind::overwrite) {
        x.bound = 0;
      } else if (!std::isinf(x.score)) {
        x.bound += u * std::fabs(x.score);
      }
    }
    if (!p_.sees(s, h, i, j)) x.score = -kInf;
  }

  void weigh(const AnyProblem::Sequence& s, std::int64_t h, std::int64_t i, WeightMap& map) const {
    const ScoreRow row = scores(s, h, i, Stage::final);
    const Real temperature = p_.temperature, sink = p_.sink(s.index, h);
    const Real n = static_cast<Real>(s.n_k);
    const Real sums = (3 * (std::fmin(n, 512) + n / 512) + 16) * u;
    Real m = temperature * sink, l = 0, off = 0;
    bool is_nan = false;
    for (const Real x : row.score) {
      m = std::fmax(m, x);
      is_nan = is_nan || std::isnan(x) || x == kInf;
    }
    Real* weight = map.weight.data() + map.at(i, 0);
    Real* bound = map.bound.data() + map.at(i, 0);
    for (std::size_t j = 0; j < row.score.size(); ++j) {
      const Real x = row.score[j];
      map.visible[map.at(i, 0) + j] = x != -kInf;
      weight[j] = x == -kInf ? 0 : std::exp((x - m) / temperature);
      if (weight[j] < kTiny) weight[j] = 0;
      l += weight[j];
    }
    if (sink != -kInf) l += std::exp(sink - m / temperature);
    for (std::size_t j = 0; j < row.score.size(); ++j) {
      if (row.score[j] == -kInf) continue;
      weight[j] = is_nan ? std::numeric_limits<Real>::quiet_NaN() : weight[j] / l;
      const Real exponent = (row.bound[j] + 4 * u * (m - row.score[j])) / temperature;
      bound[j] = is_nan ? 0 : weight[j] * std::expm1(exponent + sums);
      off += bound[j];
    }
    map.is_nan[static_cast<std::size_t>(i)] = is_nan;
    if (is_nan) return;
    if (sink != -kInf) {
      const Real exponent = u * (2 * std::fabs(sink) + 4 * std::fabs(m / temperature - sink));
      off += std::exp(sink - m / temperature) / l * std::expm1(exponent + sums);
    }
    // Second order: weights that each move by their bound are divided by a sum that moves by all.
    const Real widen = off < 0.5L ? 1 / (1 - 2 * off) : kInf;
    for (std::size_t j = 0; j < row.score.size(); ++j) {
      if (row.score[j] != -kInf) bound[j] = (bound[j] + weight[j] * off) * widen + 3 * kTiny;
    }
  }

  const AnyProblem& p_;
};

}  // namespace lookback::test
