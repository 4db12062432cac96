// What softmax and blend keep whatever the numbers are.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "catch.hpp"
#include "support/problem.hpp"

using namespace lookback::test;

namespace {

/// One more feature, 1 in q and c in every key: a constant added to all scores.
template <class T>
Problem<T> shifted(const Problem<T>& p, double c) {
  const std::int64_t d = p.q.extent(3);
  Problem<T> wide(Shape{p.q.extent(2), p.k.extent(2), d + 1, p.v.extent(3)});
  wide.options.scale = 1;
  wide.v = p.v;
  wide.q.for_each_place([&](auto b, auto h, auto i, auto f) {
    wide.q.at(b, h, i, f) = f < d ? p.q.at(b, h, i, f) : T(1);
  });
  wide.k.for_each_place([&](auto b, auto h, auto i, auto f) {
    wide.k.at(b, h, i, f) = f < d ? p.k.at(b, h, i, f) : T(c);
  });
  return wide;
}

template <class T>
Problem<T> exact_scores(const Shape& shape) {
  // Multiples of 1/4 with few features: sums of products are exact, also beside a shift of 30000.
  auto p = random_problem<T>(shape, test_seed());
  for (auto* array : {&p.q, &p.k})
    for (T& x : array->storage()) x = T(std::floor(double(x) * 4) / 4);
  p.options.scale = 1;
  return p;
}

}  // namespace

TEMPLATE_TEST_CASE("softmax: adding a constant to all scores moves only the lse", "B03", float,
                   double) {
  INFO("seed " << test_seed());
  const auto p = exact_scores<TestType>(Shape{6, 90, 3, 5});
  on_every_target([&] {
    const auto base = shifted(p, 0).run();
    for (const double c : {-30000.0, -200.0, 200.0, 30000.0}) {
      INFO("shift " << c);
      const auto moved = shifted(p, c).run();
      // The scores are exact, so the differences to the maximum are the same numbers.
      CHECK(bit_difference(moved.out, base.out) == "");
      auto lse = base.lse;
      lse.for_each_place([&](auto b, auto h, auto i, auto f) {
        lse.at(b, h, i, f) = TestType(Real(lse.at(b, h, i, f)) + c);
      });
      const Real ulp = std::numeric_limits<TestType>::epsilon() * (std::fabs(Real(c)) + 64);
      CHECK(difference(moved.lse, lse, 2 * ulp) == "");
    }
  });
}

TEMPLATE_TEST_CASE("softmax: scores in the hundred thousands keep their accuracy", "", float,
                   double) {
  // +-240,000 with differences of a few units: exact in float32, so is what must come out.
  for (const double base : {240000.0, -240000.0}) {
    Problem<TestType> p(Shape{1, 6, 1, 2});
    p.options.scale = 1;
    p.q.fill_value(1);
    const double above[] = {0, 1, -3, 0.5, 2, -20};
    for (int j = 0; j < 6; ++j) {
      p.k.at(0, 0, j, 0) = TestType(base + above[j]);
      p.v.at(0, 0, j, 0) = TestType(j);
      p.v.at(0, 0, j, 1) = TestType(-j * j);
    }
    check_against_reference(p);
    Real l = 0, blend = 0;
    for (int j = 0; j < 6; ++j) {
      l += std::exp(Real(above[j]));
      blend += std::exp(Real(above[j])) * j;
    }
    on_every_target([&] {
      CHECK(close(p.run().out.at(0, 0, 0, 0), blend / l,
                  20 * std::numeric_limits<TestType>::epsilon()));
    });
  }
}

TEMPLATE_TEST_CASE("softmax: the order of the keys does not matter beyond rounding", "", float,
                   double) {
  INFO("seed " << test_seed());
  const auto p = random_problem<TestType>(Shape{7, 300, 12, 9}, test_seed());
  const Expected<TestType> expected(p);
  std::vector<std::int64_t> order(300);
  std::iota(order.begin(), order.end(), 0);
  Random random(test_seed());
  for (std::size_t j = order.size() - 1; j > 0; --j)
    std::swap(order[j], order[std::size_t(random.integer(0, std::int64_t(j)))]);
  auto shuffled = p;
  shuffled.k.for_each_place([&](auto b, auto h, auto j, auto c) {
    shuffled.k.at(b, h, j, c) = p.k.at(b, h, order[std::size_t(j)], c);
  });
  shuffled.v.for_each_place([&](auto b, auto h, auto j, auto c) {
    shuffled.v.at(b, h, j, c) = p.v.at(b, h, order[std::size_t(j)], c);
  });
  on_every_target([&] { CHECK(expected.difference_from(shuffled.run()) == ""); });
}

TEMPLATE_TEST_CASE("softmax: contexts stay in the hull of the values", "", float, double) {
  INFO("seed " << test_seed());
  const auto p = random_problem<TestType>(Shape{20, 150, 16, 11}, test_seed());
  on_every_target([&] {
    const auto result = p.run();
    const Real slack = 1 + (3 * 150 + 16) * std::numeric_limits<TestType>::epsilon();
    for (std::int64_t c = 0; c < 11; ++c) {
      TestType low = p.v.at(0, 0, 0, c), high = low;
      for (std::int64_t j = 0; j < 150; ++j) {
        low = std::min(low, p.v.at(0, 0, j, c));
        high = std::max(high, p.v.at(0, 0, j, c));
      }
      for (std::int64_t i = 0; i < 20; ++i) {
        const Real x = result.out.at(0, 0, i, c);
        if (x < low * slack || x > high * slack) FAIL_CHECK("row " << i << ", column " << c);
      }
    }
  });
}

TEMPLATE_TEST_CASE("softmax: one key gives its value and its score to the bit", "", float, double) {
  INFO("seed " << test_seed());
  auto p = random_problem<TestType>(Shape{9, 1, 1, 7}, test_seed());
  p.options.scale = 1;
  on_every_target([&] {
    const auto result = p.run();
    for (std::int64_t i = 0; i < 9; ++i) {
      CHECK(result.lse.at(0, 0, i, 0) == p.q.at(0, 0, i, 0) * p.k.at(0, 0, 0, 0));
      for (std::int64_t c = 0; c < 7; ++c) CHECK(result.out.at(0, 0, i, c) == p.v.at(0, 0, 0, c));
    }
  });
}

TEMPLATE_TEST_CASE("temperature: a power of two is the same as dividing the scale", "", float,
                   double) {
  INFO("seed " << test_seed());
  auto p = random_problem<TestType>(Shape{5, 77, 10, 4}, test_seed());
  for (const double T : {0.125, 0.5, 2.0, 16.0}) {
    INFO("temperature " << T);
    p.options.scale = 0.25 / T;
    p.options.temperature = 1;
    const Expected<TestType> expected(p);
    p.options.scale = 0.25;
    p.options.temperature = T;
    on_every_target([&] { CHECK(expected.difference_from(p.run()) == ""); });
  }
}

TEMPLATE_TEST_CASE("temperature: extremes give the best key and the mean", "", float, double) {
  Problem<TestType> p(Shape{1, 4, 1, 1});
  p.options.scale = 1;
  p.q.fill_value(1);
  for (int j = 0; j < 4; ++j) {
    p.k.at(0, 0, j, 0) = TestType(j == 2 ? 1 : j * 0.25);
    p.v.at(0, 0, j, 0) = TestType(1 << j);
  }
  on_every_target([&] {
    p.options.temperature = 1e-30;
    CHECK(p.run().out.at(0, 0, 0, 0) == 4);
    p.options.temperature = 1e30;
    CHECK(p.run().out.at(0, 0, 0, 0) == TestType(3.75));
    CHECK(close(p.run().lse.at(0, 0, 0, 0), std::log(4.0L),
                2 * std::numeric_limits<TestType>::epsilon()));
  });
}

TEMPLATE_TEST_CASE("scale: 1, 0, negative and large", "", float, double) {
  INFO("seed " << test_seed());
  auto p = random_problem<TestType>(Shape{6, 45, 7, 3}, test_seed());
  for (const double scale : {1.0, 0.0, -1.0, -0.125, 1e-3, 30.0}) {
    INFO("scale " << scale);
    p.options.scale = scale;
    check_against_reference(p);
  }
}

TEST_CASE("temperature: every shape of kernel divides by it") {
  INFO("seed " << test_seed());
  for (const double T : {0.3, 0.7, 1.9, 100.0})
    for (const std::int64_t n_q : {1, 6, 40}) {
      auto p = random_problem<float>(Shape{n_q, 600, 16, 5}, test_seed());
      p.options.temperature = T;
      INFO("temperature " << T << ", n_q " << n_q);
      check_against_reference(p);
    }
}
