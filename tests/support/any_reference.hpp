// The exact answer of an AnyProblem, and how far a result computed in T may lie from it.
#pragma once

#include <vector>

#include "reference/attention.hpp"
#include "support/any_problem.hpp"
#include "support/array.hpp"

namespace lookback::test {

/// A step between score and softmax: what it gives exactly, and what error it leaves on a score
/// that came with one.
struct ScoreTerm {
  std::function<Real(Real before, const reference::Place&)> change;
  std::function<Real(Real error, Real before, Real after, const reference::Place&)> error;
};

struct ExpectedRow {
  std::vector<Real> out, out_bound;
  Real lse = 0, lse_bound = 0;
};

/// The error bound, derived like that of error_bound.hpp. u is half an ulp of T. It serves targets
/// without fused multiply-add too, where every product of a sum is rounded: one u more for each.
///
/// - Scores: the dot product is off by (d + 4) u sum_c |scale q_c k_jc|. Then, in order:
///   softcap has slope at most 1, and adds 16 u |s'|: 1 / cap and the product with it 2 u each on
///   an argument whose effect is at most |s'|, tanh 10 u, cap and the last product 2 u; ALiBi adds
///   2 u |slope distance| for the slope and the product, and u |s'| for the sum; bias and the hooks
///   that add: u |s'| for the sum, their summands being exact in T; the hook that halves is exact
///   and halves the error, the one that overwrites ends it.
/// - Weights, sums and the blend: as there. T * sink is rounded, so the sink is a key of value 0
///   whose weight is off by 2 u |sink|, and like the others by 4 u |m / T - sink| + (3 n_k + 17) u.
/// - A 16-bit out is rounded once more.
template <class T>
class ReferenceOf {
 public:
  explicit ReferenceOf(const AnyProblem& p)
      : p_(p), q_(widened(p.q)), k_(widened(p.k)), v_(widened(p.v)) {}

  ExpectedRow row(std::int64_t s, std::int64_t h, std::int64_t i) const;

 private:
  static constexpr Real u = std::numeric_limits<T>::epsilon() / 2;
  static constexpr Real kInf = std::numeric_limits<Real>::infinity();

  static Array<T> widened(const AnyArray& from) {
    Array<T> to(from.extent());
    to.for_each_place([&](auto b, auto h, auto i, auto c) {
      to.at(b, h, i, c) = static_cast<T>(from.get(b, h, i, c));
    });
    return to;
  }
  /// Positions [first, first + n) of one batch index, as a tensor of its own.
  static Tensor rows_of(const Array<T>& a, std::int64_t batch, std::int64_t first, std::int64_t n) {
    Tensor t = a.view();
    t.data = static_cast<const T*>(t.data) + batch * t.stride[0] + first * t.stride[2];
    t.extent = {1, a.extent(1), n, a.extent(3)};
    return t;
  }
  std::vector<ScoreTerm> terms(const AnyProblem::Sequence& s) const;
  static Real score_error(const Tensor& q, const Tensor& k, Real scale,
                          const std::vector<ScoreTerm>& terms, std::int64_t kv_head,
                          const reference::Place& at);
  void bound(const Tensor& q, const Tensor& k, const Tensor& v, const reference::Formula& f,
             const std::vector<ScoreTerm>& terms, const reference::Row& row, std::int64_t h,
             std::int64_t i, ExpectedRow& to) const;

  const AnyProblem& p_;
  Array<T> q_, k_, v_;
};

template <class T>
std::vector<ScoreTerm> ReferenceOf<T>::terms(const AnyProblem::Sequence& s) const {
  using reference::Place;
  std::vector<ScoreTerm> terms;
  if (p_.softcap) {
    const Real cap = *p_.softcap;
    terms.push_back(
        {[cap](Real x, const Place&) { return cap * std::tanh(x / cap); },
         [](Real e, Real, Real after, const Place&) { return e + 16 * u * std::fabs(after); }});
  }
  if (p_.alibi) {
    const auto slope = [this, s](const Place& at) {
      return p_.slope(s.index, at.h) * std::fabs(Real(at.i + s.offset - at.j));
    };
    terms.push_back({[slope](Real x, const Place& at) { return x - slope(at); },
                     [slope](Real e, Real, Real after, const Place& at) {
                       return e + u * (2 * std::fabs(slope(at)) + std::fabs(after));
                     }});
  }
  const auto added = [](Real e, Real, Real after, const Place&) {
    return e + u * std::fabs(after);
  };
  if (p_.bias) {
    terms.push_back({[this, s](Real x, const Place& at) {
                       const Real bias = p_.bias_at(s.batch, at.h, at.i, at.j);
                       return bias == -kInf ? -kInf : x + bias;
                     },
                     added});
  }
  if (p_.hook) {
    const auto change = [this, s](Real x, const Place& at) {
      return p_.hook->changed(x, p_.hook_place(s, at.h, at.i, at.j));
    };
    const auto halved = [](Real e, Real, Real, const Place&) { return e / 2; };
    const auto ended = [](Real, Real, Real, const Place&) { return Real(0); };
    switch (p_.hook->kind) {
      case TestHook::Kind::halve:
        terms.push_back({change, halved});
        break;
      case TestHook::Kind::overwrite:
        terms.push_back({change, ended});
        break;
      default:
        terms.push_back({change, added});
        break;
    }
  }
  return terms;
}

template <class T>
ExpectedRow ReferenceOf<T>::row(std::int64_t index, std::int64_t h, std::int64_t i) const {
  const AnyProblem::Sequence s = p_.sequence(index);
  const Tensor q = rows_of(q_, s.batch, s.first_q, s.n_q);
  const Tensor k = rows_of(k_, s.batch, s.first_k, s.n_k);
  const Tensor v = rows_of(v_, s.batch, s.first_k, s.n_k);
  reference::Formula f;
  f.scale = p_.scale ? Real(*p_.scale) : 1 / std::sqrt(Real(p_.q.extent(3)));
  f.temperature = p_.temperature;
  f.sink = p_.sink(index, h);
  const std::vector<ScoreTerm> steps = terms(s);
  for (const ScoreTerm& step : steps) f.change_score.push_back(step.change);
  f.visible.push_back(
      [this, &s](const reference::Place& at) { return p_.sees(s, at.h, at.i, at.j); });
  const reference::Row exact = reference::attend_row<T>(q, k, v, f, 0, h, i);
  ExpectedRow expected;
  expected.out = exact.out;
  expected.lse = exact.lse;
  bound(q, k, v, f, steps, exact, h, i, expected);
  return expected;
}

template <class T>
Real ReferenceOf<T>::score_error(const Tensor& q, const Tensor& k, Real scale,
                                 const std::vector<ScoreTerm>& terms, std::int64_t kv_head,
                                 const reference::Place& at) {
  using reference::element;
  const std::int64_t d = q.extent[3];
  Real score = 0, magnitude = 0;
  for (std::int64_t c = 0; c < d; ++c) {
    const Real product =
        scale * element<T>(q, 0, at.h, at.i, c) * element<T>(k, 0, kv_head, at.j, c);
    score += product;
    magnitude += std::fabs(product);
  }
  Real error = static_cast<Real>(d + 4) * u * magnitude;
  for (const ScoreTerm& term : terms) {
    const Real after = term.change(score, at);
    error = term.error(error, score, after, at);
    score = after;
  }
  return error;
}

template <class T>
void ReferenceOf<T>::bound(const Tensor& q, const Tensor& k, const Tensor& v,
                           const reference::Formula& f, const std::vector<ScoreTerm>& terms,
                           const reference::Row& row, std::int64_t h, std::int64_t i,
                           ExpectedRow& to) const {
  constexpr Real kTiny = std::numeric_limits<T>::min();
  const std::int64_t n_k = k.extent[2], kv_head = p_.kv_head(h);
  const Real sums = (3 * static_cast<Real>(n_k) + 17) * u, temperature = f.temperature;
  Real m = temperature * f.sink, total = 0;
  for (const Real s : row.score) m = std::fmax(m, s);
  to.out_bound.assign(row.out.size(), 0);
  for (std::int64_t j = 0; j < n_k; ++j) {
    const Real score = row.score[static_cast<std::size_t>(j)];
    if (std::isinf(score)) continue;
    const Real error = score_error(q, k, f.scale, terms, kv_head, {0, h, i, j});
    const Real exponent = (error + 4 * u * (m - score)) / temperature;
    const Real e = row.weight[static_cast<std::size_t>(j)] * std::expm1(exponent + sums);
    total += e;
    for (std::size_t c = 0; c < row.out.size(); ++c) {
      const Real value =
          std::fabs(reference::element<T>(v, 0, kv_head, j, static_cast<std::int64_t>(c)));
      to.out_bound[c] += e * (value + std::fabs(row.out[c])) + kTiny * value;
    }
  }
  if (!std::isinf(f.sink)) {
    const Real exponent = 2 * std::fabs(f.sink) + 4 * std::fabs(m / temperature - f.sink);
    const Real e = std::exp(f.sink - row.lse) * std::expm1(u * exponent + sums);
    total += e;
    for (std::size_t c = 0; c < row.out.size(); ++c) to.out_bound[c] += e * std::fabs(row.out[c]);
  }
  // Second order: weights that each move by e_j divide by a sum that moves by their total.
  const Real widen = total < 0.5L ? 1 / (1 - 2 * total) : kInf;
  const Rounding stored = rounding_of(p_.out_type);
  for (std::size_t c = 0; c < row.out.size(); ++c) {
    Real& bound = to.out_bound[c];
    bound *= widen;
    if (size_of(p_.out_type) == 2)
      bound += stored.relative * (std::fabs(row.out[c]) + bound) + stored.absolute;
  }
  if (!std::isfinite(row.lse)) return;
  const Real top = std::fabs(m / temperature), rest = std::fabs(row.lse - m / temperature);
  to.lse_bound = total * widen + u * (4 * top + 4 * rest + std::fabs(row.lse) + 4);
}

/// Computed once, compared with any number of results.
class AnyExpected {
 public:
  explicit AnyExpected(const AnyProblem& p) : p_(p) {
    p.compute_type() == Type::float64 ? compute<double>() : compute<float>();
  }

  std::string difference_from(const Results& results) const {
    Difference found;
    std::size_t next = 0;
    for_each_row([&](const AnyProblem::Sequence& s, std::int64_t h, std::int64_t i) {
      const ExpectedRow& row = rows_[next++];
      const std::int64_t at = s.first_q + i;
      for (std::int64_t c = 0; c < p_.d_v(); ++c) {
        const auto col = static_cast<std::size_t>(c);
        const Real actual = results.out.get(s.batch, h, at, c);
        found.expect(close(actual, row.out[col], row.out_bound[col]), actual, row.out[col], "out",
                     s.index, h, i, c);
      }
      if (!p_.with_lse) return;
      const Real actual = results.lse.get(s.batch, h, at, 0);
      found.expect(close(actual, row.lse, row.lse_bound), actual, row.lse, "lse", s.index, h, i);
    });
    return found.text();
  }
  /// Of sequence s, head h, row i, in the order of the tensors.
  const ExpectedRow& row(std::int64_t s, std::int64_t h, std::int64_t i) const {
    return rows_[first_[static_cast<std::size_t>(s * p_.H() + h)] + static_cast<std::size_t>(i)];
  }
  /// A bound that accepts anything would be no bound.
  bool has_finite_bounds() const {
    for (const ExpectedRow& row : rows_)
      for (const Real bound : row.out_bound)
        if (!std::isfinite(bound)) return false;
    return true;
  }

 private:
  template <class F>
  void for_each_row(F f) const {
    for (std::int64_t s = 0; s < p_.sequences(); ++s)
      for (std::int64_t h = 0; h < p_.H(); ++h)
        for (std::int64_t i = 0; i < p_.sequence(s).n_q; ++i) f(p_.sequence(s), h, i);
  }
  template <class T>
  void compute() {
    const ReferenceOf<T> reference(p_);
    for (std::int64_t s = 0; s < p_.sequences(); ++s)
      for (std::int64_t h = 0; h < p_.H(); ++h) {
        first_.push_back(rows_.size());
        for (std::int64_t i = 0; i < p_.sequence(s).n_q; ++i)
          rows_.push_back(reference.row(s, h, i));
      }
  }

  const AnyProblem& p_;
  std::vector<ExpectedRow> rows_;
  std::vector<std::size_t> first_;
};

}  // namespace lookback::test
