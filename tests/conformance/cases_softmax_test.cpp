// CASES.md: where softmax went wrong elsewhere. The identifier of the case is in the name.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "catch.hpp"
#include "support/cases.hpp"

using namespace lookback::test;
using lookback::Position;

namespace {

constexpr double kInf = INFINITY;

/// One query of one feature that is 1: the keys are the scores.
template <class T, class Score, class Value>
Problem<T> scores_problem(std::int64_t n_k, Score score, Value value) {
  Problem<T> p(Shape{1, n_k, 1, 1});
  p.options.scale = 1;
  p.q.fill_value(1);
  for (std::int64_t j = 0; j < n_k; ++j) {
    p.k.at(0, 0, j, 0) = T(score(j));
    p.v.at(0, 0, j, 0) = T(value(j));
  }
  return p;
}

bool near(Real actual, Real expected) {
  return close(actual, expected, 2e-6L * (1 + std::fabs(expected)));
}

}  // namespace

TEMPLATE_TEST_CASE("B01 a row that sees nothing is 0 with lse -inf and changes no other row", "",
                   float, double) {
  // A fifth feature, -inf in the query and 1 in every key, empties a row by its scores.
  const std::int64_t n_q = GENERATE(3, 32);
  const auto base = filled_problem<TestType>(Shape{n_q, 4, 4, 4});
  Problem<TestType> plain(Shape{n_q, 4, 5, 4});
  plain.v = base.v;
  plain.options.scale = 0.5;
  plain.q.for_each_place([&](auto, auto, auto i, auto c) {
    plain.q.at(0, 0, i, c) = c < 4 ? base.q.at(0, 0, i, c) : TestType(0);
  });
  plain.k.for_each_place([&](auto, auto, auto i, auto c) {
    plain.k.at(0, 0, i, c) = c < 4 ? base.k.at(0, 0, i, c) : TestType(1);
  });
  const Expected<TestType> expected(plain);
  using Rows = std::vector<std::int64_t>;
  const Rows first{0}, middle{1}, last{n_q - 1};
  Rows leading;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(14, n_q - 1); ++i) leading.push_back(i);
  for (const Rows& empty : {first, middle, last, leading}) {
    auto p = plain;
    for (const auto i : empty) p.q.at(0, 0, i, 4) = TestType(-kInf);
    check_against_reference(p);
    on_every_target([&] {
      const auto with = p.run(), without = plain.run();
      for (std::int64_t i = 0; i < n_q; ++i) {
        const bool sees = std::find(empty.begin(), empty.end(), i) == empty.end();
        CHECK(with.lse.at(0, 0, i, 0) == (sees ? without.lse.at(0, 0, i, 0) : TestType(-kInf)));
        for (std::int64_t c = 0; c < 4; ++c)
          CHECK(with.out.at(0, 0, i, c) == (sees ? without.out.at(0, 0, i, c) : TestType(0)));
      }
    });
  }
}

TEST_CASE("B01 the numbers of the case, the empty row made by its scores") {
  auto p = filled_problem<float>(Shape{3, 4, 4, 4});
  p.options.scale = 0.5;
  on_every_path(p, [](const auto& result) {
    CHECK(row_difference(result.out, 0, 0,
                         std::array{-2.092984, -1.092984, -0.0929844, -1.450429}) == "");
    CHECK(row_difference(result.out, 0, 2,
                         std::array{-2.057158, -1.057158, -0.0571576, -1.462578}) == "");
    CHECK(near(result.lse.at(0, 0, 0, 0), 1.3840671L));
    CHECK(near(result.lse.at(0, 0, 2, 0), 1.3639207L));
  });
}

TEST_CASE("B03 large negative scores after keys that are hidden by -inf") {
  const auto score = [](std::int64_t j) { return -200 - double(j % 3); };
  const auto value = [](std::int64_t j) { return double(j % 7); };
  const auto late = scores_problem<float>(
      300, [&](std::int64_t j) { return j >= 256 ? score(j) : -kInf; }, value);
  on_every_path(late, [](const auto& result) {
    CHECK(near(result.out.at(0, 0, 0, 0), 3.029634L));
    CHECK(near(result.lse.at(0, 0, 0, 0), -196.92971L));
  });
  const auto early = scores_problem<float>(
      300, [&](std::int64_t j) { return j < 44 ? score(j) : -kInf; }, value);
  auto causal = scores_problem<float>(300, score, value);
  causal.options.causal = true;
  causal.options.position = Position::at(43);
  for (const auto& p : {early, causal})
    on_every_path(p, [](const auto& result) {
      CHECK(near(result.out.at(0, 0, 0, 0), 2.833321L));
      CHECK(near(result.lse.at(0, 0, 0, 0), -196.89036L));
    });
  on_every_target([&] { CHECK(bit_difference(early.run(), causal.run()) == ""); });
}

TEST_CASE("B03 whole chunks of hidden keys before, between and after") {
  for (const std::int64_t seen : {0, 511, 512, 700, 1024, 1999}) {
    INFO("only key " << seen);
    const auto p = scores_problem<float>(
        2000, [&](std::int64_t j) { return j == seen ? -3e4 : -kInf; },
        [](std::int64_t j) { return double(j); });
    on_every_path(p, [&](const auto& result) {
      CHECK(result.out.at(0, 0, 0, 0) == float(seen));
      CHECK(result.lse.at(0, 0, 0, 0) == -3e4f);
    });
  }
}

TEST_CASE("B05 no floor under the maximum, no epsilon in the sum") {
  Problem<float> p(Shape{1, 8, 2, 1});
  p.options.scale = 1;
  p.q.at(0, 0, 0, 0) = 100;
  p.q.at(0, 0, 0, 1) = 1;
  for (int j = 0; j < 8; ++j) {
    p.k.at(0, 0, j, 0) = -200;
    p.k.at(0, 0, j, 1) = static_cast<float>(-(j % 2));
    p.v.at(0, 0, j, 0) = static_cast<float>(j);
  }
  on_every_path(p, [](const auto& result) {
    CHECK(near(result.out.at(0, 0, 0, 0), 3.268941L));
    CHECK(near(result.lse.at(0, 0, 0, 0), -19998.30L));
  });
}

TEMPLATE_TEST_CASE("B05 masks given as finite huge negatives are ordinary scores", "", float,
                   double) {
  const double huge = GENERATE(-3e38, -1e38, -1e30, -1e10);
  const double temperature = GENERATE(1.0, 1e-30, 1e30, 0.5);
  auto p = scores_problem<TestType>(
      64, [&](std::int64_t) { return huge; }, [](std::int64_t j) { return double(j); });
  p.options.temperature = temperature;
  INFO("score " << huge << ", temperature " << temperature);
  on_every_path(p, [&](const auto& result) {
    CHECK(result.out.at(0, 0, 0, 0) == TestType(31.5));
    const Real lse = Real(TestType(huge)) / temperature + std::log(64.0L);
    const Real lowest = std::numeric_limits<TestType>::lowest();
    if (lse < lowest)
      CHECK(result.lse.at(0, 0, 0, 0) == TestType(lowest));
    else
      CHECK(close(result.lse.at(0, 0, 0, 0), lse,
                  (std::fabs(lse) + 8) * 3 * std::numeric_limits<TestType>::epsilon()));
  });
}

TEMPLATE_TEST_CASE("B05 one finite score among huge negatives takes all the weight", "", float,
                   double) {
  const double huge = GENERATE(-3e38, -1e9);
  const std::int64_t n_k = GENERATE(5, 700);
  const auto p = scores_problem<TestType>(
      n_k, [&](std::int64_t j) { return j == n_k / 2 ? -7 : huge; },
      [&](std::int64_t j) { return j == n_k / 2 ? 3 : 1e30; });
  on_every_path(p, [](const auto& result) {
    CHECK(result.out.at(0, 0, 0, 0) == 3);
    CHECK(result.lse.at(0, 0, 0, 0) == -7);
  });
}

TEMPLATE_TEST_CASE("B15 keys far below the maximum weigh exactly 0", "", float, double) {
  const bool even_first = GENERATE(true, false);
  const auto p = scores_problem<TestType>(
      256, [&](std::int64_t j) { return (j % 2 == 0) == even_first ? 0 : -1000; },
      [&](std::int64_t j) { return (j % 2 == 0) == even_first ? 1 : 1e38; });
  on_every_path(p, [](const auto& result) {
    CHECK(result.out.at(0, 0, 0, 0) == 1);
    CHECK(near(result.lse.at(0, 0, 0, 0), 4.852030L));
  });
}

TEST_CASE("B15 a weight that would be subnormal is exactly 0 and the next one is not") {
  // exp(-87.5) = 0.84 * 2^-126, exp(-87) = 1.39 * 2^-126; in float64 exp(-708.5) and exp(-708).
  const auto check = [&](auto type, double hidden, double seen, double value) {
    using T = decltype(type);
    const auto run = [&](double score) {
      return scores_problem<T>(
          2, [&](std::int64_t j) { return j == 0 ? 0 : score; },
          [&](std::int64_t j) { return j == 0 ? 0 : value; });
    };
    on_every_path(run(hidden), [](const auto& r) { CHECK(r.out.at(0, 0, 0, 0) == 0); });
    on_every_path(run(seen), [&](const auto& r) {
      CHECK(close(r.out.at(0, 0, 0, 0), std::exp(Real(seen)) * T(value),
                  std::exp(Real(seen)) * value * 200 * std::numeric_limits<T>::epsilon()));
    });
  };
  check(float{}, -87.5, -87.0, 1e38);
  check(double{}, -708.5, -708.0, 1e300);
}

TEST_CASE("B15 keys whose weight underflows cost no more than others") {
  // Weights of 1e-38 and their subnormal products were a hundred times slower elsewhere.
  const auto timed = [](float low) {
    Problem<float> p(Shape{64, 4096, 16, 16});
    p.options.scale = 1;
    p.options.threads = 1;
    p.q.fill_value(1);
    p.k.for_each_place(
        [&](auto, auto, auto j, auto c) { p.k.at(0, 0, j, c) = c == 0 && j % 2 == 1 ? low : 0; });
    p.v.fill_value(1);
    double best = 1e9;
    for (int turn = 0; turn < 9; ++turn) {
      const auto start = std::chrono::steady_clock::now();
      p.run();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      best = std::min(best, took.count());
    }
    return best;
  };
  const double plain = timed(-1), subnormal = timed(-95), nothing = timed(-1000);
  INFO("plain " << plain << " s, subnormal " << subnormal << " s, zero " << nothing << " s");
  CHECK(subnormal < 3 * plain);
  CHECK(nothing < 3 * plain);
}
