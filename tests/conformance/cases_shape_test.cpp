// CASES.md: shapes, heads, positions and strides that went wrong elsewhere.
#include <cmath>

#include "catch.hpp"
#include "support/cases.hpp"

using namespace lookback::test;
using lookback::Position;
using lookback::Strides;

namespace {

bool near(Real actual, Real expected) {
  return close(actual, expected, 2e-6L * (1 + std::fabs(expected)));
}

}  // namespace

TEST_CASE("B18 causal with 2 queries and 5 keys: bottom-right and top-left") {
  auto p = filled_problem<float>(Shape{2, 5, 4, 4});
  p.options = causal_at(Position::bottom_right());
  p.options.scale = 0.5;
  on_every_path(p, [](const auto& r) {
    CHECK(row_difference(r.out, 0, 0, std::array{-2.092984, -1.092984, -0.0929844, -1.450429}) ==
          "");
    CHECK(row_difference(r.out, 0, 1, std::array{-1.527695, -0.5276955, 0.4723045, -0.7993045}) ==
          "");
    CHECK(near(r.lse.at(0, 0, 0, 0), 1.3840671L));
    CHECK(near(r.lse.at(0, 0, 1, 0), 1.6399069L));
  });
  p.options.position = Position::top_left();
  on_every_path(p, [](const auto& r) {
    CHECK(row_difference(r.out, 0, 0, std::array{-5.0, -4.0, -3.0, -2.0}) == "");
    CHECK(row_difference(r.out, 0, 1, std::array{-2.93752, -1.93752, -0.93752, 0.06248}) == "");
  });
  p.options.position = Position::at(3);
  const auto explicit_offset = p;
  p.options.position = Position::bottom_right();
  on_every_target([&] { CHECK(bit_difference(p.run(), explicit_offset.run()) == ""); });
}

TEST_CASE("B19 a single query is the first at top-left and the last at bottom-right") {
  auto p = filled_problem<float>(Shape{1, 4, 4, 4});
  p.options = causal_at(Position::bottom_right());
  p.options.scale = 0.5;
  on_every_path(p, [](const auto& r) {
    CHECK(row_difference(r.out, 0, 0, std::array{-2.092984, -1.092984, -0.0929844, -1.450429}) ==
          "");
    CHECK(near(r.lse.at(0, 0, 0, 0), 1.3840671L));
  });
  p.options.position = Position::top_left();
  on_every_path(p, [](const auto& r) {
    CHECK(row_difference(r.out, 0, 0, std::array{-5.0, -4.0, -3.0, -2.0}) == "");
    CHECK(r.lse.at(0, 0, 0, 0) == 0.25f);
  });
}

TEST_CASE("B21 offsets taken per call, keys past the valid length NaN") {
  // The cache of the case as two calls: 4 and 6 of 6 keys valid, the rest is NaN and hidden.
  const auto cache = filled_problem<float>(Shape{.n_q = 2, .n_k = 6, .d = 4, .d_v = 4, .B = 2});
  const auto sequence = [&](std::int64_t b, std::int64_t length) {
    Problem<float> p(cache.q.part({b, 0, 0, 0}, {1, 1, 2, 4}),
                     cache.k.part({b, 0, 0, 0}, {1, 1, 6, 4}),
                     cache.v.part({b, 0, 0, 0}, {1, 1, 6, 4}), causal_at(Position::at(length - 2)));
    p.options.scale = 0.5;
    for (std::int64_t j = length; j < 6; ++j)
      for (std::int64_t c = 0; c < 4; ++c) p.k.at(0, 0, j, c) = p.v.at(0, 0, j, c) = NAN;
    return p;
  };
  on_every_path(sequence(0, 4), [](const auto& r) {
    CHECK(row_difference(r.out, 0, 0, std::array{-1.551605, -0.5516046, 0.4483954, -1.5783}) == "");
    CHECK(row_difference(r.out, 0, 1, std::array{-1.843268, -0.843268, 0.156732, -1.584118}) == "");
  });
  on_every_path(sequence(1, 6), [](const auto& r) {
    CHECK(row_difference(r.out, 0, 0, std::array{0.5423217, -0.4430726, 0.5569274, 1.556927}) ==
          "");
    CHECK(row_difference(r.out, 0, 1, std::array{-0.2313071, -1.046121, -0.0461212, 0.9538788}) ==
          "");
  });
}

TEST_CASE("B32 feature strides other than 1, in each array in turn") {
  auto base = filled_problem<float>(Shape{3, 5, 4, 4});
  base.options.scale = 0.5;
  const auto check = [](const auto& r) {
    CHECK(row_difference(r.out, 0, 0, std::array{-1.65229, -0.6522905, 0.3477095, -0.5133569}) ==
          "");
    CHECK(row_difference(r.out, 0, 1, std::array{-1.527695, -0.5276955, 0.4723045, -0.7993045}) ==
          "");
    CHECK(near(r.lse.at(0, 0, 0, 0), 1.6204956L));
    CHECK(near(r.lse.at(0, 0, 1, 0), 1.6399069L));
    CHECK(near(r.lse.at(0, 0, 2, 0), 1.6183278L));
  };
  for (const int turn : {0, 1, 2}) {
    auto p = base;
    Array<float>& array = turn == 0 ? p.q : turn == 1 ? p.k : p.v;
    array = array.with_layout(Layout::features_first);
    INFO("array " << turn);
    on_every_path(p, check);
  }
  on_every_target([&] { check(base.run(Layout::features_first)); });
}

TEST_CASE("B32 the stride of an axis of extent 1 is ignored") {
  auto p = filled_problem<float>(Shape{1, 1, 1, 1});
  const std::int64_t absurd = GENERATE(0, -1, 7, INT64_MAX, INT64_MIN);
  float out = 0, lse = 0;
  const Strides stride{absurd, absurd, absurd, absurd};
  on_every_target([&] {
    attend(lookback::strided(&p.q.storage()[0], {1, 1, 1, 1}, stride),
           lookback::strided(&p.k.storage()[0], {1, 1, 1, 1}, stride),
           lookback::strided(&p.v.storage()[0], {1, 1, 1, 1}, stride),
           {lookback::strided(&out, {1, 1, 1, 1}, stride),
            lookback::strided(&lse, {1, 1, 1, 1}, stride)});
    CHECK(out == -5);
    CHECK(lse == 0.375f);
  });
}

TEST_CASE("B36 query head h reads key-value head h / (H / H_kv)") {
  auto p =
      filled_problem<float>(Shape{.n_q = 1, .n_k = 3, .d = 4, .d_v = 4, .B = 1, .H = 4, .H_kv = 2});
  p.options.scale = 0.5;
  on_every_path(p, [](const auto& r) {
    CHECK(row_difference(r.out, 1, 0, std::array{-0.6166916, 0.3833084, 1.383308, -1.916317}) ==
          "");
    CHECK(row_difference(r.out, 2, 0, std::array{0.3639754, 1.363975, -1.718789, -0.7187895}) ==
          "");
  });
}

TEST_CASE("B37 values of another width than keys, the scale from the keys") {
  on_every_path(filled_problem<float>(Shape{1, 3, 2, 5}), [](const auto& r) {
    CHECK(row_difference(r.out, 0, 0,
                         std::array{-0.7814512, -2.875054, -1.875054, -0.8750536, 0.1249464}) ==
          "");
    CHECK(near(r.lse.at(0, 0, 0, 0), 1.1801707L));
  });
  for (const Shape& shape : {Shape{3, 40, 192, 128}, Shape{3, 40, 5, 1}, Shape{19, 40, 1, 5}}) {
    INFO(shape);
    check_against_reference(random_problem<float>(shape, test_seed()));
  }
}

TEST_CASE("B47 cross-attention uses all keys whatever the number of queries") {
  auto p = filled_problem<float>(Shape{2, 6, 4, 4});
  p.options.scale = 0.5;
  on_every_path(p, [](const auto& r) {
    CHECK(row_difference(r.out, 0, 0, std::array{-0.5074768, 0.4925232, -0.7354144, -1.219541}) ==
          "");
    CHECK(row_difference(r.out, 0, 1, std::array{-0.7822323, 0.2177677, -0.2656887, -1.230949}) ==
          "");
  });
}

TEMPLATE_TEST_CASE("B49 the lse of no keys is -inf, of exactly as many rows as there are", "",
                   float, double) {
  for (const std::int64_t n_q : {2, 16, 33}) {
    const Problem<TestType> p(Shape{n_q, 0, 4, 3});
    on_every_target([&] {
      Result<TestType> r{Array<TestType>({1, 1, n_q, 3}), Array<TestType>({1, 1, n_q + 16, 1})};
      auto lse = r.lse.output();
      lse.extent[2] = n_q;
      attend(p.q.view(), p.k.view(), p.v.view(), {r.out.output(), lse});
      for (std::int64_t i = 0; i < n_q + 16; ++i) {
        if (i < n_q)
          CHECK(r.lse.at(0, 0, i, 0) == -INFINITY);
        else
          CHECK(std::isnan(r.lse.at(0, 0, i, 0)));  // untouched
      }
      CHECK(difference(r.out, Array<TestType>({1, 1, n_q, 3}), 0) != "");  // it was written
      for (std::int64_t i = 0; i < n_q; ++i) CHECK(r.out.at(0, 0, i, 2) == 0);
    });
  }
}

TEST_CASE("B49 the lse has strides of its own") {
  INFO("seed " << test_seed());
  const auto p = random_problem<float>(
      Shape{.n_q = 7, .n_k = 30, .d = 4, .d_v = 4, .B = 2, .H = 3, .H_kv = 3}, test_seed());
  on_every_target([&] {
    const auto plain = p.run();
    for (const Strides& stride : {Strides{1, 2, 6, 99}, Strides{-60, 20, -2, 0}}) {
      Array<float> lse({2, 3, 7, 1}, stride);
      Array<float> out({2, 3, 7, 4});
      attend(p.q.view(), p.k.view(), p.v.view(), {out.output(), lse.output()});
      CHECK(bit_difference(lse, plain.lse) == "");
    }
  });
}
