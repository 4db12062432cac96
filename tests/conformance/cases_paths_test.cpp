// B09: every input of the case list that has no test of its own with options, through every path.
// Their numbers are in the other files; here all paths must agree with the reference and, to the
// bit, with each other.
#include <cmath>

#include "catch.hpp"
#include "support/cases.hpp"
#include "support/every_path.hpp"
#include "support/options_reference.hpp"

using namespace lookback::test;
using lookback::Position;

namespace {

constexpr float kNaN = NAN;

template <class T>
Problem<T> with_scale(const Shape& shape) {
  auto p = filled_problem<T>(shape);
  p.options.scale = 0.5;
  return p;
}

}  // namespace

TEMPLATE_TEST_CASE("B09 B05 scores far below zero", "", float, double) {
  Problem<TestType> p(Shape{1, 8, 2, 1});
  p.options.scale = 1;
  p.q.at(0, 0, 0, 0) = 100;
  p.q.at(0, 0, 0, 1) = 1;
  for (int j = 0; j < 8; ++j) {
    p.k.at(0, 0, j, 0) = -200;
    p.k.at(0, 0, j, 1) = TestType(-(j % 2));
    p.v.at(0, 0, j, 0) = TestType(j);
  }
  through_every_path(p, [](const auto& r) {
    CHECK(near(r.out.at(0, 0, 0, 0), 3.268941L));
    CHECK(near(r.lse.at(0, 0, 0, 0), -19998.30L));
  });
}

TEMPLATE_TEST_CASE("B09 B10 NaN in a query, and in a value", "", float, double) {
  for (const bool in_query : {true, false}) {
    auto p = with_scale<TestType>(Shape{4, 5, 4, 4});
    (in_query ? p.q.at(0, 0, 2, 0) : p.v.at(0, 0, 3, 1)) = kNaN;
    INFO((in_query ? "in q" : "in v"));
    check_every_path_against_reference(p);
  }
}

TEMPLATE_TEST_CASE("B09 B13 NaN in each lane of the keys", "", float, double) {
  for (const std::int64_t n_q : {1, 20})
    for (const std::int64_t at : {0, 1, 7, 8, 15, 16, 31, 36}) {
      Problem<TestType> p(Shape{n_q, 37, 1, 1});
      p.options.scale = 1;
      p.q.fill_value(1);
      p.v.fill_value(1);
      for (std::int64_t j = 0; j < 37; ++j) p.k.at(0, 0, j, 0) = TestType(double(j % 5 - 2) / 4);
      p.k.at(0, 0, at, 0) = kNaN;
      INFO("n_q " << n_q << ", key " << at);
      through_every_path(p, [&](const auto& r) {
        for (std::int64_t i = 0; i < n_q; ++i) {
          CHECK(std::isnan(r.out.at(0, 0, i, 0)));
          CHECK(std::isnan(r.lse.at(0, 0, i, 0)));
        }
      });
    }
}

TEMPLATE_TEST_CASE("B09 B18 B19 B47 causal at either end, and without", "", float, double) {
  for (const Shape& shape : {Shape{2, 5, 4, 4}, Shape{1, 4, 4, 4}, Shape{2, 6, 4, 4}}) {
    auto p = with_scale<TestType>(shape);
    INFO(shape);
    check_every_path_against_reference(p);
    p.options.causal = true;
    for (const auto position : {Position::bottom_right(), Position::top_left()}) {
      p.options.position = position;
      check_every_path_against_reference(p);
    }
  }
}

TEMPLATE_TEST_CASE("B09 B32 feature strides other than 1, with a mask and a bias likewise", "",
                   float, double) {
  INFO("seed " << test_seed());
  const std::int64_t n_q = GENERATE(3, 30);
  auto p = random_problem<TestType>(Shape{n_q, 150, 5, 3}, test_seed());
  const lookback::Extents scores{1, 1, n_q, 150};
  const auto keep = [](auto, auto, auto i, auto j) { return (i + j) % 7 != 0; };
  const StoredArray mask = boolean_array(scores, keep);
  StoredArray bias(lookback::Type::float32, scores);
  bias.fill([](auto, auto, auto i, auto j) { return double((i * 3 + j) % 8) / 8; });
  p.options.mask = mask.view();
  p.options.bias = bias.view();
  const auto plain = p;
  for (const Layout layout : kLayouts) {
    const StoredArray other_mask = boolean_array(scores, keep, layout);
    StoredArray other_bias(lookback::Type::float32, scores, layout);
    other_bias.fill([&](auto b, auto h, auto i, auto j) { return bias.at(b, h, i, j); });
    p.q = plain.q.with_layout(layout);
    p.k = plain.k.with_layout(layout);
    p.v = plain.v.with_layout(layout);
    p.options.mask = other_mask.view();
    p.options.bias = other_bias.view();
    INFO("layout " << static_cast<int>(layout));
    for_every_path([&](const auto&, int threads) {
      const auto expected = plain.run_on_threads(threads);
      CHECK(bit_difference(p.run_on_threads(threads), expected) == "");
      CHECK(bit_difference(p.run(layout), expected) == "");
    });
  }
  check_every_path_against_reference(plain);
}

TEMPLATE_TEST_CASE("B09 B36 B37 groups and widths of the values", "", float, double) {
  INFO("seed " << test_seed());
  check_every_path_against_reference(
      with_scale<TestType>(Shape{.n_q = 1, .n_k = 3, .d = 4, .d_v = 4, .B = 1, .H = 4, .H_kv = 2}));
  check_every_path_against_reference(filled_problem<TestType>(Shape{1, 3, 2, 5}));
  for (const Shape& shape : {Shape{3, 40, 192, 128}, Shape{3, 40, 5, 1}, Shape{19, 40, 1, 70}}) {
    INFO(shape);
    check_every_path_against_reference(random_problem<TestType>(shape, test_seed()));
  }
}

TEMPLATE_TEST_CASE("B09 B35 B49 no keys, no features, no values", "", float, double) {
  INFO("seed " << test_seed());
  for (const Shape& shape : {Shape{2, 0, 4, 4}, Shape{16, 0, 4, 4}, Shape{33, 0, 0, 0},
                             Shape{3, 20, 0, 3}, Shape{3, 20, 4, 0}, Shape{0, 20, 4, 3}}) {
    auto p = random_problem<TestType>(shape, test_seed());
    p.options.scale = 0.5;
    INFO(shape);
    check_every_path_against_reference(p);
  }
}

TEMPLATE_TEST_CASE("B09 each path at sizes around its lanes, blocks and chunks", "", float,
                   double) {
  INFO("seed " << test_seed());
  for (const std::int64_t n_q : {1, 2, 8, 9, 17, 49})
    for (const std::int64_t n_k : {1, 16, 127, 129, 512, 513, 1030}) {
      const Shape shape{.n_q = n_q, .n_k = n_k, .d = 9, .d_v = 17, .B = 1, .H = 2, .H_kv = 1};
      const auto p = random_problem<TestType>(shape, test_seed());
      const OptionsExpected<TestType> expected(p);
      INFO(shape);
      through_paths_in_place(p, [&](const auto& r) { CHECK(expected.difference_from(r) == ""); });
    }
}
