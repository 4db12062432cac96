// Which views of a problem's weights are asked for, how to get them, and how to draw some at
// random.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lookback/align.hpp"
#include "support/any_problem.hpp"
#include "support/any_random.hpp"
#include "support/array.hpp"
#include "support/compare.hpp"

namespace lookback::test {

struct ViewRequest {
  Heads heads = Heads::each;
  std::optional<Stage> rows_at;
  std::vector<std::int64_t> rows;
  std::int64_t top = 0;
  bool entropy = false, largest = false, position = false, distance = false;
  bool received_sum = false, received_max = false;
  std::optional<std::int64_t> last;
  std::optional<Pooling> pooling;
  std::int64_t R = 1, C = 1;
  std::optional<PooledView::Region> region;
  std::int64_t mass = 0;  // distances
  bool is_signed = false;
  std::optional<std::int64_t> share;  // of this many keys
  bool lse = false;
  bool context = false;  // align() with v and out
  /// Strides of the outputs; compact without one.
  std::optional<std::uint64_t> stride_seed;

  /// Every view that goes with any heads, in some resolution.
  static ViewRequest everything(const AnyProblem& p);
  std::string text() const;
};

/// All weights of all rows, as the engine has them.
inline ViewRequest all_weights(const AnyProblem& p, Heads heads) {
  ViewRequest request;
  request.heads = heads;
  request.rows_at = Stage::weights;
  for (std::int64_t i = 0; i < p.q.extent(2); ++i) request.rows.push_back(i);
  return request;
}

/// The outputs of one call. Each starts as the sentinel in all of its storage.
template <class T>
struct ViewResults {
  static constexpr T kUntouched = T(-12345.5);

  std::optional<Array<T>> rows, top_weight, entropy, largest, position, distance, received_sum,
      received_max, cells, mass, share, lse;
  std::optional<Array<std::int64_t>> top_index;
  std::optional<AnyArray> out;

  ViewResults(const AnyProblem& p, const ViewRequest& request);

  /// Where they go, and what is asked for.
  Views views(const ViewRequest& request);

  /// f(name, array) for the floating-point ones that are there.
  template <class Self, class F>
  static void for_each(Self& self, F f) {
    const auto visit = [&](const char* name, auto& array) {
      if (array) f(name, *array);
    };
    visit("rows", self.rows);
    visit("top_weight", self.top_weight);
    visit("entropy", self.entropy);
    visit("largest", self.largest);
    visit("position", self.position);
    visit("distance", self.distance);
    visit("received_sum", self.received_sum);
    visit("received_max", self.received_max);
    visit("cells", self.cells);
    visit("mass", self.mass);
    visit("share", self.share);
    visit("lse", self.lse);
  }
};

template <class T>
ViewResults<T> run_views(const AnyProblem& p, const ViewRequest& request, const Options& options) {
  ViewResults<T> results(p, request);
  const Views views = results.views(request);
  if (request.context) {
    align(p.q.view(), p.k.view(), p.v.view(), results.out->output(), views, options);
  } else {
    align(p.q.view(), p.k.view(), views, options);
  }
  return results;
}

template <class T>
ViewResults<T> run_views(const AnyProblem& p, const ViewRequest& request,
                         std::optional<int> threads = {}) {
  Options options = p.options();
  options.threads = threads;
  return run_views<T>(p, request, options);
}

template <class T>
ViewResults<T>::ViewResults(const AnyProblem& p, const ViewRequest& request) {
  const std::int64_t B = p.q.extent(0), H = p.H(), n_q = p.q.extent(2), n_k = p.k.extent(2);
  const std::int64_t heads = request.heads == Heads::each ? H : 1;
  Random random(request.stride_seed.value_or(0));
  const auto make = [&]<class S>(std::optional<Array<S>>& to, bool wanted, const Extents& extent) {
    if (!wanted) return;
    to.emplace(extent, request.stride_seed ? RandomProblem::strides(random, extent, false)
                                           : strides_of(Layout::heads_first, extent));
    std::fill(to->storage().begin(), to->storage().end(), static_cast<S>(kUntouched));
  };
  make(rows, request.rows_at.has_value(),
       {B, heads, static_cast<std::int64_t>(request.rows.size()), n_k});
  make(top_index, request.top > 0, {B, heads, n_q, request.top});
  make(top_weight, request.top > 0, {B, heads, n_q, request.top});
  make(entropy, request.entropy, {B, heads, n_q, 1});
  make(largest, request.largest, {B, heads, n_q, 1});
  make(position, request.position, {B, heads, n_q, 1});
  make(distance, request.distance, {B, heads, n_q, 1});
  make(received_sum, request.received_sum, {B, heads, n_k, 1});
  make(received_max, request.received_max, {B, heads, n_k, 1});
  make(cells, request.pooling.has_value(), {B, heads, request.R, request.C});
  make(mass, request.mass > 0, {B, heads, request.mass, 1});
  make(share, request.share.has_value(), {B, heads, 1, 1});
  make(lse, request.lse, {B, H, n_q, 1});
  if (request.context) out = p.empty_results().out;
}

template <class T>
Views ViewResults<T>::views(const ViewRequest& request) {
  const auto place = [](auto& array) {
    return array ? std::optional<OutputTensor>(array->output()) : std::nullopt;
  };
  Views v;
  v.heads = request.heads;
  if (rows) v.rows = RowsView{request.rows, *request.rows_at, rows->output()};
  if (top_index) v.top = TopView{top_index->output(), top_weight->output()};
  if (entropy || largest || position || distance) {
    v.summary = SummaryView{place(entropy), place(largest), place(position), place(distance)};
  }
  if (received_sum || received_max) {
    v.received = ReceivedView{place(received_sum), place(received_max), request.last};
  }
  if (cells) v.pooled = PooledView{cells->output(), *request.pooling, request.region};
  if (mass || share) {
    v.distances =
        DistanceView{place(mass), request.is_signed, place(share), request.share.value_or(1)};
  }
  v.lse = place(lse);
  return v;
}

/// Every place of every view that differs in bits.
template <class T>
std::string bit_difference(const ViewResults<T>& actual, const ViewResults<T>& expected) {
  std::vector<const Array<T>*> others;
  ViewResults<T>::for_each(expected, [&](const char*, const auto& a) { others.push_back(&a); });
  std::string found;
  std::size_t next = 0;
  ViewResults<T>::for_each(actual, [&](const char* name, const auto& array) {
    const std::string text = bit_difference(array, *others[next++]);
    if (!text.empty()) found += std::string(name) + ": " + text;
  });
  if (actual.top_index) {
    Difference index;
    actual.top_index->for_each_place([&](auto b, auto h, auto i, auto c) {
      const auto a = actual.top_index->at(b, h, i, c), e = expected.top_index->at(b, h, i, c);
      index.expect(a == e, Real(a), Real(e), b, h, i, c);
    });
    if (!index.text().empty()) found += "top_index: " + index.text();
  }
  if (actual.out) found += bit_difference(*actual.out, *expected.out);
  return found;
}

/// Nothing between the elements was written, and every element was.
template <class T>
std::string untouched_difference(const ViewResults<T>& results) {
  std::string found;
  const auto check = [&](const char* name, auto array) {
    using S = std::decay_t<decltype(array.storage().front())>;
    const S sentinel = static_cast<S>(ViewResults<T>::kUntouched);
    bool all_written = true, none_else = true;
    array.for_each_place([&](auto b, auto h, auto i, auto c) {
      S& x = array.at(b, h, i, c);
      all_written = all_written && x != sentinel;
      x = sentinel;
    });
    for (const S x : array.storage()) none_else = none_else && x == sentinel;
    if (!all_written) found += std::string(name) + " has elements that were not written; ";
    if (!none_else) found += std::string(name) + " was written between its elements; ";
  };
  ViewResults<T>::for_each(results, check);
  if (results.top_index) check("top_index", *results.top_index);
  return found;
}

/// Views that fit the problem, each with a fair chance.
ViewRequest random_request(Random& random, const AnyProblem& p);

/// How often each view came up, so that a test can tell that it tested something.
void count_views(const ViewRequest& request, std::map<std::string, int>& counts);

}  // namespace lookback::test
