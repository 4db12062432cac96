// The reference against numbers worked out elsewhere, and its error bound against float arithmetic.
#include <cmath>

#include "catch.hpp"
#include "support/cases.hpp"
#include "support/problem.hpp"

using namespace lookback::test;
using lookback::reference::Row;

TEST_CASE("reference: softmax of three scores, and their log-sum-exp") {
  Problem<float> p(Shape{1, 3, 1, 1});
  p.options.scale = 1;
  p.q.fill_value(1);
  const float scores[] = {2.0f, 1.0f, 0.1f};
  for (int j = 0; j < 3; ++j) p.k.at(0, 0, j, 0) = scores[j];
  p.v.fill_value(1);
  const Row row = p.reference_row(0, 0, 0);
  CHECK(close(row.weight[0], 0.65900113888596790691L, 1e-8L));
  CHECK(close(row.weight[1], 0.24243297070471392152L, 1e-8L));
  CHECK(close(row.weight[2], 0.098565890409318171562L, 1e-8L));
  CHECK(close(row.lse, 2.4170300162778333L, 1e-8L));
  CHECK(close(row.out[0], 1, 1e-15L));
}

TEST_CASE("reference: rows of the case list, causal and not") {
  auto plain = filled_problem<float>(Shape{4, 5, 4, 4});
  plain.options.scale = 0.5;
  const Row third = plain.reference_row(0, 0, 3);
  CHECK(difference(third.out, std::vector{-0.7634694L, 0.2365306L, 1.236531L, -1.236531L}, 2e-6L) ==
        "");
  auto causal = filled_problem<float>(Shape{2, 5, 4, 4});
  causal.options = causal_at(lookback::Position::bottom_right());
  causal.options.scale = 0.5;
  const Row first = causal.reference_row(0, 0, 0);
  CHECK(difference(first.out, std::vector{-2.092984L, -1.092984L, -0.0929844L, -1.450429L},
                   3e-6L) == "");
  CHECK(close(first.lse, 1.3840671L, 1e-6L));
}

TEST_CASE("reference: softcap, bias and sink have their places in the formula") {
  // B31: bias after scale; B27: a sink takes weight and has no value.
  Problem<float> p(Shape{1, 4, 1, 1});
  p.q.fill_value(1);
  const float k[] = {2, 4, 0, 8}, v[] = {1, 2, 4, 1000};
  for (int j = 0; j < 4; ++j) p.k.at(0, 0, j, 0) = k[j], p.v.at(0, 0, j, 0) = v[j];
  lookback::reference::Formula f;
  f.scale = 0.5L;
  f.change_score.push_back([](Real s, const lookback::reference::Place& at) {
    const Real bias[] = {-1, 0, 2, -INFINITY};
    return s + bias[at.j];
  });
  const Row biased =
      lookback::reference::attend_row<float>(p.q.view(), p.k.view(), p.v.view(), f, 0, 0, 0);
  CHECK(close(biased.out[0], 2.873242L, 1e-6L));
  CHECK(close(biased.lse, 2.7586237L, 1e-7L));

  f = {};
  f.scale = 0;
  f.sink = 1;
  for (int j = 0; j < 4; ++j) p.v.at(0, 0, j, 0) = static_cast<float>(j + 1);
  const Row sunk =
      lookback::reference::attend_row<float>(p.q.view(), p.k.view(), p.v.view(), f, 0, 0, 0);
  CHECK(close(sunk.out[0], 1.488476L, 1e-6L));
  CHECK(close(sunk.lse, 1.9048324L, 1e-7L));
}

TEST_CASE("reference: empty rows, hidden NaN and visible NaN") {
  auto p = filled_problem<float>(Shape{3, 4, 2, 2});
  p.options = causal_at(lookback::Position::at(-1));
  p.k.at(0, 0, 1, 0) = NAN;
  p.v.at(0, 0, 3, 0) = NAN;
  CHECK(p.reference_row(0, 0, 0).lse == -INFINITY);
  CHECK(p.reference_row(0, 0, 0).out == std::vector<Real>{0, 0});
  CHECK(p.reference_row(0, 0, 1).out == std::vector<Real>{-5, -4});
  CHECK(std::isnan(p.reference_row(0, 0, 2).out[1]));
  CHECK(std::isnan(p.reference_row(0, 0, 2).lse));
}

TEST_CASE("error bound: holds for plain float arithmetic and not for a wrong result") {
  const auto p = random_problem<float>(Shape{1, 40, 24, 3}, test_seed());
  const Row row = p.reference_row(0, 0, 0);
  const RowBound bound =
      error_bound<float>(p.q.view(), p.k.view(), p.v.view(), p.formula(), row, 0, 0, 0);
  float l = 0, blend[3] = {};
  for (int j = 0; j < 40; ++j) {
    float s = 0;
    for (int c = 0; c < 24; ++c) s += p.q.at(0, 0, 0, c) * 0.20412415f * p.k.at(0, 0, j, c);
    const float w = std::exp(s);
    l += w;
    for (int c = 0; c < 3; ++c) blend[c] += w * p.v.at(0, 0, j, c);
  }
  for (std::size_t c = 0; c < 3; ++c) {
    CHECK(close(blend[c] / l, row.out[c], bound.out[c]));
    CHECK(bound.out[c] < 1e-4L);  // a bound that accepts anything would be no bound
  }
  CHECK(bound.lse < 1e-4L);
}
