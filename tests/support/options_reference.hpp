// The reference with all options: what they say in the words of the formula, and how far a result
// may lie from it.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "support/every_path.hpp"
#include "support/problem.hpp"
#include "support/stored_array.hpp"

namespace lookback::test {

/// A problem's options, row by row. The problem must outlive it; it is not of packed sequences.
template <class T>
class OptionsReference {
 public:
  explicit OptionsReference(const Problem<T>& p)
      : p_(p), o_(p.options), H_(p.q.extent(1)), n_q_(p.q.extent(2)), n_k_(p.k.extent(2)) {}

  bool sees(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    if (j >= keys_of(b)) return false;
    const std::int64_t at = position_of(b, i);
    bool in_range = !o_.causal || j <= at;
    if (o_.window && o_.window->left) in_range = in_range && j >= at - *o_.window->left;
    if (o_.window && o_.window->right) in_range = in_range && j <= at + *o_.window->right;
    if (!in_range && j >= o_.prefix.value_or(0)) return false;
    return listed_as_visible(o_, n_q_, n_k_, b, h, i, j);
  }

  Real sink(std::int64_t b, std::int64_t h) const {
    return o_.sinks ? per_head(*o_.sinks, b, h) : -std::numeric_limits<Real>::infinity();
  }

  /// A score after all terms.
  Real changed(Real s, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    if (o_.softcap) s = *o_.softcap * std::tanh(s / *o_.softcap);
    if (o_.alibi) s -= alibi(b, h, i, j);
    if (o_.bias) {
      const Real bias = broadcast_value(*o_.bias, b, h, i, j);
      s = bias == -std::numeric_limits<Real>::infinity() ? bias : s + bias;
    }
    return o_.hook ? hooked(s, b, h, i, j) : s;
  }

  /// What the terms may add to the error of a score, in units of half an ulp: the softcap's tanh is
  /// good to 8, the slope and its product are rounded, and so is every sum.
  Real term_units(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, Real s) const {
    Real units = 0;
    if (o_.softcap) units += 8 * Real(*o_.softcap);
    if (o_.alibi) units += 4 * std::fabs(alibi(b, h, i, j));
    if (o_.bias) units += 2 * std::fabs(broadcast_value(*o_.bias, b, h, i, j));
    if (o_.hook) units += 4 * std::fabs(s);
    return units == 0 ? 0 : units + 4 * std::fabs(s);
  }

  reference::Formula formula(std::int64_t b, std::int64_t h) const {
    reference::Formula f;
    f.scale = o_.scale ? Real(*o_.scale) : 1 / std::sqrt(Real(p_.q.extent(3)));
    f.temperature = o_.temperature;
    f.sink = sink(b, h);
    using reference::Place;
    f.change_score.push_back(
        [this](Real s, const Place& at) { return changed(s, at.b, at.h, at.i, at.j); });
    f.visible.push_back([this](const Place& at) { return sees(at.b, at.h, at.i, at.j); });
    return f;
  }

 private:
  std::int64_t keys_of(std::int64_t b) const {
    return o_.lengths ? (*o_.lengths)[static_cast<std::size_t>(b)] : n_k_;
  }
  std::int64_t position_of(std::int64_t b, std::int64_t i) const {
    return i + o_.position.value_or(Position::top_left()).offset(b, n_q_, keys_of(b));
  }
  Real per_head(std::span<const double> values, std::int64_t b, std::int64_t h) const {
    const bool shared = static_cast<std::int64_t>(values.size()) == H_;
    return values[static_cast<std::size_t>(shared ? h : b * H_ + h)];
  }
  Real alibi(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return per_head(*o_.alibi, b, h) * std::fabs(Real(position_of(b, i) - j));
  }
  Real hooked(Real s, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    auto score = static_cast<double>(s);
    const lookback_score_tile tile{&score, 1, 0, 1, 1, 1, 1, b, h, i, position_of(b, i), j};
    o_.hook->function(&tile, o_.hook->user);
    return score;
  }

  const Problem<T>& p_;
  const Options& o_;
  std::int64_t H_, n_q_, n_k_;
};

/// The bound of error_bound.hpp, with the terms' own errors and the sink's.
template <class T>
RowBound bound_with_terms(const Problem<T>& p, const OptionsReference<T>& options,
                          const reference::Formula& f, const reference::Row& row, std::int64_t b,
                          std::int64_t h, std::int64_t i) {
  RowBound bound = error_bound<T>(p.q.view(), p.k.view(), p.v.view(), f, row, b, h, i);
  constexpr Real u = std::numeric_limits<T>::epsilon() / 2;
  const Tensor v = p.v.view();
  const std::int64_t kv_head = h / (p.q.extent(1) / p.k.extent(1));
  Real total = 0;
  for (std::size_t j = 0; j < row.score.size(); ++j) {
    const auto key = static_cast<std::int64_t>(j);
    if (std::isinf(row.score[j])) continue;
    const Real error = options.term_units(b, h, i, key, row.score[j]) * u / f.temperature;
    const Real e = 2 * row.weight[j] * std::expm1(error);
    total += e;
    for (std::size_t c = 0; c < row.out.size(); ++c)
      bound.out[c] +=
          e * (std::fabs(reference::element<T>(v, b, kv_head, key, static_cast<std::int64_t>(c))) +
               std::fabs(row.out[c]));
  }
  if (std::isfinite(f.sink)) {
    // The sink is rounded, and stands beside m / T, which is too; so is the weight it takes.
    const Real weight = std::isfinite(row.lse) ? std::exp(f.sink - row.lse) : 0;
    const Real e = weight * 16 * u * (1 + std::fabs(f.sink) + std::fabs(row.lse));
    total += e;
    for (std::size_t c = 0; c < row.out.size(); ++c) bound.out[c] += e * std::fabs(row.out[c]);
  }
  bound.lse += 2 * total;
  return bound;
}

/// The exact answer of a problem with options, with its tolerance, row by row.
template <class T>
class OptionsExpected {
 public:
  explicit OptionsExpected(const Problem<T>& p) : H_(p.q.extent(1)), n_q_(p.q.extent(2)) {
    const OptionsReference<T> options(p);
    for (std::int64_t b = 0; b < p.q.extent(0); ++b)
      for (std::int64_t h = 0; h < H_; ++h)
        for (std::int64_t i = 0; i < n_q_; ++i) {
          const auto f = options.formula(b, h);
          rows_.push_back(reference::attend_row<T>(p.q.view(), p.k.view(), p.v.view(), f, b, h, i));
          bounds_.push_back(bound_with_terms(p, options, f, rows_.back(), b, h, i));
        }
  }

  const reference::Row& row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return rows_[index(b, h, i)];
  }

  std::string difference_from(const Result<T>& result) const {
    Difference found;
    result.out.for_each_place([&](auto b, auto h, auto i, auto c) {
      const auto r = index(b, h, i), col = static_cast<std::size_t>(c);
      const Real actual = result.out.at(b, h, i, c), expected = rows_[r].out[col];
      found.expect(close(actual, expected, bounds_[r].out[col]), actual, expected, "out", b, h, i,
                   c);
    });
    result.lse.for_each_place([&](auto b, auto h, auto i, auto) {
      const auto r = index(b, h, i);
      const Real actual = result.lse.at(b, h, i, 0), expected = rows_[r].lse;
      found.expect(close(actual, expected, bounds_[r].lse), actual, expected, "lse", b, h, i);
    });
    return found.text();
  }

 private:
  std::size_t index(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return static_cast<std::size_t>((b * H_ + h) * n_q_ + i);
  }
  std::int64_t H_, n_q_;
  std::vector<reference::Row> rows_;
  std::vector<RowBound> bounds_;
};

/// Through every path, against the reference.
template <class T>
void check_every_path_against_reference(const Problem<T>& p) {
  const auto against = [](const Problem<T>& problem) {
    const OptionsExpected<T> expected(problem);
    through_paths_in_place(problem,
                           [&](const auto& r) { CHECK(expected.difference_from(r) == ""); });
  };
  against(p);
  if (p.options.q_bounds || p.k.extent(2) == 0) return;
  INFO("moved along to the boundary of a chunk");
  const auto across = across_chunks(p);
  against(across.problem);
}

}  // namespace lookback::test
