// Where "climbed" looks in a real sentence: every view of every layer and head, against the exact
// softmax of the recorded queries and keys.
#include <cstdio>
#include <numeric>

#include "catch.hpp"
#include "support/expected_views.hpp"
#include "support/npy.hpp"
#include "support/targets.hpp"

using namespace lookback::test;
using lookback::Heads;
using lookback::Stage;
using lookback::Type;

namespace {

/// The words of data/minilm/cat.
constexpr std::array<const char*, 18> kWords = {
    "[CLS]",  "the", "cat",       "that",    "the",     "dog", "next", "door", "had",
    "chased", "all", "afternoon", "finally", "climbed", "the", "tree", ".",    "[SEP]"};
constexpr std::int64_t kClimbed = 13, kTop = 5;

/// Layers stand in the place of sequences: [6, 12, 18, 32].
AnyProblem sentence() {
  const Npy q = read_npy(data_path("minilm/cat/q.npy")),
            k = read_npy(data_path("minilm/cat/k.npy"));
  REQUIRE(q.shape == std::vector<std::int64_t>{6, 12, 18, 32});
  AnyProblem p(Type::float32, 6, 12, 12, 18, 18, 32, 1);
  std::size_t at = 0;
  p.q.fill([&] { return q.data[at++]; });
  at = 0;
  p.k.fill([&] { return k.data[at++]; });
  p.v.fill([] { return 0; });
  return p;
}

/// Keys from the heaviest on.
std::vector<std::int64_t> order_of(const WeightMap& map, std::int64_t i) {
  std::vector<std::int64_t> keys(static_cast<std::size_t>(map.n_k));
  std::iota(keys.begin(), keys.end(), 0);
  std::stable_sort(keys.begin(), keys.end(), [&](std::int64_t a, std::int64_t b) {
    return map.weight[map.at(i, a)] > map.weight[map.at(i, b)];
  });
  return keys;
}

/// The weight of rank t is apart from its neighbours by more than both may be off.
bool is_decided(const WeightMap& map, std::int64_t i, const std::vector<std::int64_t>& order,
                std::size_t t) {
  const auto apart = [&](std::size_t a, std::size_t b) {
    const std::size_t x = map.at(i, order[a]), y = map.at(i, order[b]);
    return map.weight[x] - map.weight[y] > map.bound[x] + map.bound[y];
  };
  return (t == 0 || apart(t - 1, t)) && apart(t, t + 1);
}

struct Checked {
  int decided = 0, all = 0;
  Difference found;
};

void check_climbed(const AnyProblem& p, const ViewResults<float>& results, std::int64_t layer,
                   std::int64_t head, bool print, Checked& checked) {
  const WeightMap map = WeightReference<float>(p).map(p.sequence(layer), head);
  const auto order = order_of(map, kClimbed);
  if (print) std::printf("layer %d head %-2d climbed ->", int(layer), int(head));
  for (std::int64_t t = 0; t < kTop; ++t) {
    const auto rank = static_cast<std::size_t>(t);
    const std::int64_t index = results.top_index->at(layer, head, kClimbed, t);
    const Real weight = results.top_weight->at(layer, head, kClimbed, t);
    REQUIRE((index >= 0 && index < 18));
    if (print && t < 3) {
      std::printf(" %s %.2f", kWords[static_cast<std::size_t>(index)], double(weight));
    }
    ++checked.all;
    const std::size_t at = map.at(kClimbed, order[rank]);
    checked.found.expect(close(weight, map.weight[at], map.bound[at]), weight, map.weight[at],
                         layer, head, t);
    if (!is_decided(map, kClimbed, order, rank)) continue;
    ++checked.decided;
    checked.found.expect(index == order[rank], Real(index), Real(order[rank]), layer, head, t);
  }
  if (print) std::printf("\n");
}

}  // namespace

TEST_CASE("minilm: which words \"climbed\" looks at, in every layer and head") {
  const AnyProblem p = sentence();
  ViewRequest request;
  request.top = kTop;
  bool print = true;
  on_every_target([&] {
    const auto results = run_views<float>(p, request);
    Checked checked;
    for (std::int64_t layer = 0; layer < 6; ++layer)
      for (std::int64_t head = 0; head < 12; ++head)
        check_climbed(p, results, layer, head, print, checked);
    CHECK(checked.found.text() == "");
    // All but a few ranks are farther apart than float32 can blur.
    CHECK(checked.all == 6 * 12 * kTop);
    CHECK(checked.decided > checked.all * 95 / 100);
    print = false;
  });
}

TEST_CASE("minilm: every view of the sentence, per head and over the heads of a layer") {
  AnyProblem p = sentence();
  for (const bool causal : {false, true}) {
    p.causal = causal;
    for (const Heads heads : {Heads::each, Heads::mean, Heads::max}) {
      ViewRequest request = ViewRequest::everything(p);
      request.heads = heads;
      ExpectedViews<float> expected(p, request);
      on_every_target([&] {
        INFO((causal ? "causal, " : "plain, ") << request.text());
        const auto own = run_views<float>(p, all_weights(p, heads));
        CHECK(expected.difference_from(run_views<float>(p, request), *own.rows) == "");
      });
    }
  }
}
