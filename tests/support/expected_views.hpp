// Every view of an AnyProblem's weights by its definition, from the whole matrix, compared with
// what the engine gave.
#pragma once

#include <numeric>

#include "support/view_request.hpp"
#include "support/weight_map.hpp"

namespace lookback::test {

/// A view's bound is what its weights may be off by, through its definition, and its own sums. u is
/// half an ulp of T; N = min(n, 128) + n / 128 + 4 roundings for a sum over the n keys of a row,
/// M = min(n, 192) + n / 192 + 4 for one over rows, which are more than the engine's blocks need.
/// - entropy: x ln x moves by the bound times |ln x| + 1, and is computed within 8 u x (|ln x| +
/// 1).
/// - position, distance: quotients, so a weight's bound counts with how far its term is from the
///   result. Positions are summed from the block's first key on, hence the 256.
/// - maxima move by at most the largest bound, and add no rounding.
template <class T>
class ExpectedViews {
 public:
  static constexpr Real u = WeightReference<T>::u;

  ExpectedViews(const AnyProblem& p, const ViewRequest& request)
      : p_(p), request_(request), reference_(p) {
    for (std::int64_t b = 0; b < p.sequences(); ++b) {
      for (std::int64_t h = 0; h < heads(); ++h) {
        maps_.push_back(request.heads == Heads::each
                            ? reference_.map(p.sequence(b), h)
                            : reference_.reduced(p.sequence(b), request.heads == Heads::max));
      }
    }
  }

  /// own: all_weights() as the engine gave them, of which some views are exact functions.
  std::string difference_from(const ViewResults<T>& results, const Array<T>& own) {
    text_.clear();
    compared_ = &results;
    for (std::int64_t b = 0; b < p_.sequences(); ++b) {
      for (std::int64_t h = 0; h < heads(); ++h) {
        const WeightMap& map = maps_[static_cast<std::size_t>(b * heads() + h)];
        own_weights(map, own, b, h);
        if (results.rows) rows(map, own, b, h);
        if (results.top_index) top(map, own, b, h);
        summary(map, own, b, h);
        if (results.received_sum || results.received_max) received(map, b, h);
        if (results.cells) cells(map, b, h);
        if (results.mass) mass(map, b, h);
        if (results.share) share(map, b, h);
      }
    }
    return text_;
  }

 private:
  /// A sum of weights, or of functions of weights, with its bound.
  struct Sum {
    Real value = 0, bound = 0;
    std::int64_t count = 0;
    void add(Real x, Real e) {
      value += x;
      bound += e;
      ++count;
    }
  };

  std::int64_t heads() const { return request_.heads == Heads::each ? p_.H() : 1; }
  static Real key_roundings(std::int64_t n) {
    return static_cast<Real>(std::min<std::int64_t>(n, 128) + n / 128 + 4);
  }
  static Real row_roundings(std::int64_t n) {
    return static_cast<Real>(std::min<std::int64_t>(n, 192) + n / 192 + 4);
  }
  void finish(const char* view, const Difference& found) {
    const std::string text = found.text();
    if (!text.empty()) text_ += std::string(view) + ": " + text + "\n";
  }
  static void expect(Difference& found, Real actual, Real expected, Real bound, std::int64_t b,
                     std::int64_t h, std::int64_t i, std::int64_t c) {
    const bool bounded = std::isnan(expected) || std::isfinite(bound);
    found.expect(bounded && close(actual, expected, bound), actual, expected, b, h, i, c);
  }

  void own_weights(const WeightMap& map, const Array<T>& own, std::int64_t b, std::int64_t h) {
    Difference found;
    for (std::int64_t i = 0; i < map.n_q; ++i) {
      for (std::int64_t j = 0; j < map.n_k; ++j) {
        expect(found, own.at(b, h, i, j), map.weight[map.at(i, j)], map.bound[map.at(i, j)], b, h,
               i, j);
      }
    }
    finish("all weights", found);
  }

  void rows(const WeightMap& map, const Array<T>& own, std::int64_t b, std::int64_t h) {
    Difference found;
    for (std::size_t r = 0; r < request_.rows.size(); ++r) {
      const auto to = static_cast<std::int64_t>(r);
      const std::int64_t i = request_.rows[r];
      if (*request_.rows_at == Stage::weights) {
        for (std::int64_t j = 0; j < map.n_k; ++j) {
          const T actual = compared_->rows->at(b, h, to, j), expected = own.at(b, h, i, j);
          found.expect(same_bits(actual, expected), actual, expected, b, h, i, j);
        }
        continue;
      }
      const ScoreRow row = reference_.scores(p_.sequence(b), h, i, *request_.rows_at);
      for (std::size_t j = 0; j < row.score.size(); ++j) {
        const auto key = static_cast<std::int64_t>(j);
        expect(found, compared_->rows->at(b, h, to, key), row.score[j], row.bound[j], b, h, i, key);
      }
    }
    finish("rows", found);
  }

  /// Exactly the heaviest of the engine's own weights, ties to the lower index.
  void top(const WeightMap& map, const Array<T>& own, std::int64_t b, std::int64_t h) {
    Difference found;
    for (std::int64_t i = 0; i < map.n_q; ++i) {
      std::vector<std::int64_t> keys;
      for (std::int64_t j = 0; j < map.n_k; ++j)
        if (map.visible[map.at(i, j)]) keys.push_back(j);
      const bool is_nan = map.is_nan[static_cast<std::size_t>(i)];
      if (!is_nan) {
        std::stable_sort(keys.begin(), keys.end(), [&](std::int64_t a, std::int64_t c) {
          return own.at(b, h, i, a) > own.at(b, h, i, c);
        });
      }
      for (std::int64_t t = 0; t < request_.top; ++t) {
        const bool there = t < static_cast<std::int64_t>(keys.size());
        const std::int64_t key = there ? keys[static_cast<std::size_t>(t)] : -1;
        const T weight = compared_->top_weight->at(b, h, i, t);
        const std::int64_t index = compared_->top_index->at(b, h, i, t);
        if (is_nan) {  // which keys are the heaviest has no answer
          found.expect(std::isnan(weight), weight, NAN, b, h, i, t);
          found.expect(index >= -1 && index < map.n_k, Real(index), NAN, b, h, i, t);
          continue;
        }
        const T expected = there ? own.at(b, h, i, key) : T(0);
        found.expect(index == key, Real(index), Real(key), b, h, i, t, "index");
        found.expect(same_bits(weight, expected), weight, expected, b, h, i, t);
      }
    }
    finish("top", found);
  }

  /// How far -x ln x moves when x moves by e.
  static Real entropy_bound(Real x, Real e) {
    const auto f = [](Real y) { return y > 0 ? -y * std::log(y) : Real(0); };
    const Real rounding = 8 * u * x * (x > 0 ? std::fabs(std::log(x)) + 1 : 0);
    if (x > 2 * e) return e * (std::fabs(std::log(x - e)) + 1) + rounding;
    return f(std::fmin(x + e, 1 / std::exp(Real(1)))) + rounding;
  }

  void summary(const WeightMap& map, const Array<T>& own, std::int64_t b, std::int64_t h) {
    Difference found;
    for (std::int64_t i = 0; i < map.n_q; ++i) {
      const bool is_nan = map.is_nan[static_cast<std::size_t>(i)];
      if (compared_->entropy) entropy(map, b, h, i, found);
      if (compared_->largest) {
        T most = 0;
        for (std::int64_t j = 0; j < map.n_k; ++j) most = std::max(most, own.at(b, h, i, j));
        const T actual = compared_->largest->at(b, h, i, 0);
        const T expected = is_nan ? std::numeric_limits<T>::quiet_NaN() : most;
        found.expect(same_bits(actual, expected), actual, expected, b, h, i, "largest");
      }
      const Real p = static_cast<Real>(i + p_.sequence(b).offset);
      const auto key = [](std::int64_t j) { return static_cast<Real>(j); };
      const auto away = [p](std::int64_t j) { return std::fabs(p - static_cast<Real>(j)); };
      if (compared_->position) {
        expect_mean(map, i, key, 256, compared_->position->at(b, h, i, 0), found);
      }
      if (compared_->distance) {
        expect_mean(map, i, away, 0, compared_->distance->at(b, h, i, 0), found);
      }
    }
    finish("summary", found);
  }

  void entropy(const WeightMap& map, std::int64_t b, std::int64_t h, std::int64_t i,
               Difference& found) const {
    Sum sum;
    for (std::int64_t j = 0; j < map.n_k; ++j) {
      const Real w = map.weight[map.at(i, j)];
      sum.add(w == 0 ? 0 : -w * std::log(w), entropy_bound(w, map.bound[map.at(i, j)]));
    }
    if (map.is_nan[static_cast<std::size_t>(i)]) sum.value = NAN;
    const Real bound = sum.bound + key_roundings(map.n_k) * u * std::fabs(sum.value);
    expect(found, compared_->entropy->at(b, h, i, 0), sum.value, bound, b, h, i, 0);
  }

  /// sum_j w_j f(j) / sum_j w_j. reach: how far from f(j) the engine's partial sums may count.
  template <class F>
  void expect_mean(const WeightMap& map, std::int64_t i, F f, Real reach, Real actual,
                   Difference& found) const {
    Real all = 0, mean = 0, moved = 0, rounded = 0, off = 0;
    for (std::int64_t j = 0; j < map.n_k; ++j) {
      all += map.weight[map.at(i, j)];
      off += map.bound[map.at(i, j)];
      mean += map.weight[map.at(i, j)] * f(j);
    }
    mean /= all;
    for (std::int64_t j = 0; j < map.n_k; ++j) {
      const Real apart = std::fabs(f(j) - mean);
      moved += map.bound[map.at(i, j)] * apart;
      rounded += map.weight[map.at(i, j)] * (apart + reach + (reach > 0 ? 0 : mean));
    }
    const Real widen = off < all / 2 ? 1 / (1 - off / all) : WeightReference<T>::kInf;
    const Real bound =
        (moved + 2 * key_roundings(map.n_k) * u * rounded) / all * widen + 2 * u * std::fabs(mean);
    expect(found, actual, mean, bound, i, 0, 0, reach > 0 ? 0 : 1);
  }

  void received(const WeightMap& map, std::int64_t b, std::int64_t h) {
    Difference found;
    const std::int64_t last = std::min(request_.last.value_or(map.n_q), map.n_q);
    for (std::int64_t j = 0; j < map.n_k; ++j) {
      Sum sum;
      Real most = 0, most_bound = 0;
      for (std::int64_t i = map.n_q - last; i < map.n_q; ++i) {
        const Real w = map.weight[map.at(i, j)], e = map.bound[map.at(i, j)];
        sum.add(w, e);
        most = nan_or_larger(most, w);
        most_bound = std::max(most_bound, e);
      }
      const Real bound = sum.bound + row_roundings(last) * u * sum.value;
      if (compared_->received_sum) {
        expect(found, compared_->received_sum->at(b, h, j, 0), sum.value, bound, b, h, j, 0);
      }
      if (compared_->received_max) {
        expect(found, compared_->received_max->at(b, h, j, 0), most, most_bound, b, h, j, 1);
      }
    }
    finish("received", found);
  }

  void cells(const WeightMap& map, std::int64_t b, std::int64_t h) {
    Difference found;
    const PooledView::Region all{0, map.n_q, 0, map.n_k};
    const PooledView::Region part = request_.region.value_or(all);
    const std::int64_t rows = part.end_row - part.first_row, R = request_.R;
    const std::int64_t keys = part.end_key - part.first_key, C = request_.C;
    for (std::int64_t r = 0; r < R; ++r) {
      for (std::int64_t c = 0; c < C; ++c) {
        const PooledView::Region cell{
            part.first_row + r * rows / R, part.first_row + (r + 1) * rows / R,
            part.first_key + c * keys / C, part.first_key + (c + 1) * keys / C};
        expect_cell(map, cell, compared_->cells->at(b, h, r, c), found, b, h, r, c);
      }
    }
    finish("cells", found);
  }

  void expect_cell(const WeightMap& map, const PooledView::Region& cell, Real actual,
                   Difference& found, std::int64_t b, std::int64_t h, std::int64_t r,
                   std::int64_t c) const {
    Sum sum;
    Real most = 0, most_bound = 0;
    for (std::int64_t i = cell.first_row; i < cell.end_row; ++i) {
      for (std::int64_t j = cell.first_key; j < cell.end_key; ++j) {
        const Real w = map.weight[map.at(i, j)], e = map.bound[map.at(i, j)];
        sum.add(w, e);
        most = nan_or_larger(most, w);
        most_bound = std::max(most_bound, e);
      }
    }
    if (*request_.pooling == Pooling::max) {
      expect(found, actual, most, most_bound, b, h, r, c);
      return;
    }
    // A row's part of a cell is summed key by key.
    const std::int64_t height = cell.end_row - cell.first_row,
                       width = cell.end_key - cell.first_key;
    const Real roundings = row_roundings(height) + static_cast<Real>(width);
    const Real area = static_cast<Real>(sum.count);
    expect(found, actual, sum.value / area, (sum.bound + roundings * u * sum.value) / area, b, h, r,
           c);
  }

  /// Up to 192 weights of a diagonal are summed; rounding diagonals on their way to a bin shows.
  void mass(const WeightMap& map, std::int64_t b, std::int64_t h) {
    const std::int64_t bins = request_.mass, half = (bins - 1) / 2;
    const std::int64_t offset = p_.sequence(b).offset;
    std::vector<Sum> sums(static_cast<std::size_t>(bins));
    for (std::int64_t i = 0; i < map.n_q; ++i) {
      for (std::int64_t j = 0; j < map.n_k; ++j) {
        const std::int64_t distance = i + offset - j;
        const std::int64_t bin = request_.is_signed ? std::clamp(distance, -half, half) + half
                                                    : std::min(std::abs(distance), bins - 1);
        sums[static_cast<std::size_t>(bin)].add(map.weight[map.at(i, j)], map.bound[map.at(i, j)]);
      }
    }
    Difference found;
    for (std::int64_t bin = 0; bin < bins; ++bin) {
      const Sum& sum = sums[static_cast<std::size_t>(bin)];
      const Real bound = sum.bound + row_roundings(map.n_q) * u * sum.value;
      expect(found, compared_->mass->at(b, h, bin, 0), sum.value, bound, b, h, bin, 0);
    }
    finish("mass", found);
  }

  void share(const WeightMap& map, std::int64_t b, std::int64_t h) {
    Sum first, all;
    for (std::int64_t i = 0; i < map.n_q; ++i) {
      for (std::int64_t j = 0; j < map.n_k; ++j) {
        const Real w = map.weight[map.at(i, j)], e = map.bound[map.at(i, j)];
        all.add(w, e);
        if (j < *request_.share) first.add(w, e);
      }
    }
    const Real expected = all.value == 0 ? 0 : first.value / all.value;
    const Real off = 2 * (all.bound / all.value + key_roundings(map.n_k) * u);
    const Real bound = all.value == 0 ? 0 : first.bound / all.value + expected * off;
    Difference found;
    expect(found, compared_->share->at(b, h, 0, 0), expected, bound, b, h, 0, 0);
    finish("share", found);
  }

  const AnyProblem& p_;
  const ViewRequest& request_;
  const WeightReference<T> reference_;
  std::vector<WeightMap> maps_;
  const ViewResults<T>* compared_ = nullptr;
  std::string text_;
};

}  // namespace lookback::test
