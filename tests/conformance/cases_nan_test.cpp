// CASES.md: NaN and infinities, where they must show and where they must not.
#include <cmath>

#include "catch.hpp"
#include "support/cases.hpp"

using namespace lookback::test;
using lookback::Position;

namespace {

constexpr float kNaN = NAN;
constexpr float kInf = INFINITY;

template <class T>
bool all_nan(const Result<T>& r, std::int64_t i) {
  bool nan = std::isnan(r.lse.at(0, 0, i, 0));
  for (std::int64_t c = 0; c < r.out.extent(3); ++c) nan = nan && std::isnan(r.out.at(0, 0, i, c));
  return nan;
}

/// Empty if row i is the same in both, to the bit.
template <class T>
std::string row_bits(const Result<T>& a, const Result<T>& b, std::int64_t i) {
  return bit_difference(Result<T>{a.out.rows(i, 1), a.lse.rows(i, 1)},
                        Result<T>{b.out.rows(i, 1), b.lse.rows(i, 1)});
}

}  // namespace

TEST_CASE("B10 NaN in a query makes its row NaN and no other") {
  auto p = filled_problem<float>(Shape{4, 5, 4, 4});
  p.options.scale = 0.5;
  p.q.at(0, 0, 2, 0) = kNaN;
  on_every_path(p, [](const auto& r) {
    CHECK(all_nan(r, 2));
    CHECK(row_difference(r.out, 0, 0, std::array{-1.65229, -0.6522905, 0.3477095, -0.5133569}) ==
          "");
    CHECK(row_difference(r.out, 0, 1, std::array{-1.527695, -0.5276955, 0.4723045, -0.7993045}) ==
          "");
    CHECK(row_difference(r.out, 0, 3, std::array{-0.7634694, 0.2365306, 1.236531, -1.236531}) ==
          "");
  });
}

TEST_CASE("B10 NaN in a value makes its column NaN and leaves the rest and every lse") {
  auto p = filled_problem<float>(Shape{4, 5, 4, 4});
  p.options.scale = 0.5;
  const auto clean = p;
  p.v.at(0, 0, 3, 1) = kNaN;
  on_every_target([&] {
    const auto with = p.run(), without = clean.run();
    CHECK(bit_difference(with.lse, without.lse) == "");
    with.out.for_each_place([&](auto b, auto h, auto i, auto c) {
      if (c == 1)
        CHECK(std::isnan(with.out.at(b, h, i, c)));
      else
        CHECK(with.out.at(b, h, i, c) == without.out.at(b, h, i, c));
    });
  });
}

TEMPLATE_TEST_CASE("B10 NaN in any query row and feature, beside empty rows", "", float, double) {
  INFO("seed " << test_seed());
  auto clean = random_problem<TestType>(Shape{37, 50, 5, 3}, test_seed());
  clean.options = causal_at(Position::at(-2));
  for (std::int64_t row = 0; row < 37; row += 3) {
    auto p = clean;
    p.q.at(0, 0, row, row % 5) = kNaN;
    INFO("row " << row);
    on_every_target([&] {
      const auto with = p.run(), without = clean.run();
      for (std::int64_t i = 0; i < 37; ++i) {
        if (i == row && i >= 2)
          CHECK(all_nan(with, i));
        else  // a row that sees no key looks at no score
          CHECK(row_bits(with, without, i) == "");
      }
    });
  }
}

TEMPLATE_TEST_CASE("B11 NaN and infinities in hidden keys and values never matter", "", float,
                   double) {
  INFO("seed " << test_seed());
  const std::int64_t n_q = GENERATE(1, 3, 20, 70), n_k = 600;
  auto clean = random_problem<TestType>(Shape{n_q, n_k, 6, 5}, test_seed());
  for (const std::int64_t offset : {-1, 0, 5, 63, 510, 511, 512}) {
    clean.options = causal_at(Position::at(offset));
    for (const float poison : {1e10f, kNaN, kInf, -kInf, 3e38f}) {
      auto p = clean;
      for (std::int64_t j = std::max<std::int64_t>(offset + n_q, 0); j < n_k; ++j) {
        for (std::int64_t c = 0; c < 6; ++c) p.k.at(0, 0, j, c) = TestType(poison);
        for (std::int64_t c = 0; c < 5; ++c) p.v.at(0, 0, j, c) = TestType(poison);
      }
      INFO("offset " << offset << ", n_q " << n_q << ", poison " << poison);
      on_every_target([&] { CHECK(bit_difference(p.run(), clean.run()) == ""); });
    }
  }
}

TEMPLATE_TEST_CASE("B11 in the triangle a key is NaN only to the rows that see it", "", float,
                   double) {
  INFO("seed " << test_seed());
  const std::int64_t n = 75;
  auto clean = random_problem<TestType>(Shape{n, n, 6, 5}, test_seed());
  clean.options.causal = true;
  for (const std::int64_t j : {0, 1, 7, 8, 15, 16, 31, 33, 63, 64, 74}) {
    for (const bool in_key : {true, false}) {
      auto p = clean;
      (in_key ? p.k : p.v).at(0, 0, j, 2) = kNaN;
      INFO("key " << j << (in_key ? ", in k" : ", in v"));
      on_every_target([&] {
        const auto with = p.run(), without = clean.run();
        for (std::int64_t i = 0; i < n; ++i) {
          if (i < j) {
            CHECK(row_bits(with, without, i) == "");
          } else if (in_key) {
            CHECK(all_nan(with, i));
          } else {
            CHECK(with.lse.at(0, 0, i, 0) == without.lse.at(0, 0, i, 0));
            for (std::int64_t c = 0; c < 5; ++c)
              CHECK(same_bits(with.out.at(0, 0, i, c),
                              c == 2 ? TestType(kNaN) : without.out.at(0, 0, i, c)));
          }
        }
      });
    }
  }
}

TEST_CASE("B11 the numbers of the case, the second key hidden by causal") {
  Problem<float> p(Shape{2, 2, 4, 4});
  for (auto* array : {&p.q, &p.k, &p.v}) {
    float next = 0;
    array->fill([&] { return next++; });
  }
  p.options = causal_at(Position::at(-1));
  p.options.scale = 0.5;
  // Two queries over the first key alone: row 1 as given, row 0 through an offset one higher.
  for (const float poison : {1e10f, kNaN, kInf, -kInf}) {
    p.k.at(0, 0, 1, 0) = p.v.at(0, 0, 1, 0) = poison;
    on_every_path(p, [](const auto& r) {
      CHECK(row_difference(r.out, 0, 1, std::array{0.0, 1.0, 2.0, 3.0}) == "");
      CHECK(r.lse.at(0, 0, 1, 0) == 19);
    });
    auto first = p;
    first.options.position = Position::at(0);
    on_every_path(first, [](const auto& r) {
      CHECK(row_difference(r.out, 0, 0, std::array{0.0, 1.0, 2.0, 3.0}) == "");
      CHECK(r.lse.at(0, 0, 0, 0) == 7);
    });
  }
}

TEMPLATE_TEST_CASE("B13 a NaN score is never lost, whichever key and lane it is in", "", float,
                   double) {
  for (const std::int64_t n_q : {1, 2, 19})
    for (std::int64_t at = 0; at < 37; ++at) {
      Problem<TestType> p(Shape{n_q, 37, 1, 2});
      p.options.scale = 1;
      p.q.fill_value(1);
      p.v.fill_value(1);
      for (std::int64_t j = 0; j < 37; ++j) p.k.at(0, 0, j, 0) = TestType(double(j % 5 - 2) / 4);
      p.k.at(0, 0, at, 0) = kNaN;
      INFO("n_q " << n_q << ", key " << at);
      on_every_path(p, [&](const auto& r) {
        for (std::int64_t i = 0; i < n_q; ++i) CHECK(all_nan(r, i));
      });
    }
}

TEMPLATE_TEST_CASE("B13 a NaN score in any chunk of a long row, also when all others are hidden",
                   "", float, double) {
  for (const bool alone : {false, true})
    for (const std::int64_t at : {0, 1, 511, 512, 800, 1024, 1599}) {
      Problem<TestType> p(Shape{1, 1600, 1, 1});
      p.options.scale = 1;
      p.q.fill_value(1);
      p.v.fill_value(1);
      p.k.fill_value(alone ? -kInf : 1);
      p.k.at(0, 0, at, 0) = kNaN;
      INFO("key " << at << (alone ? ", alone" : ""));
      on_every_path(p, [&](const auto& r) { CHECK(all_nan(r, 0)); });
    }
}

TEMPLATE_TEST_CASE("infinities: a score of +inf makes its row NaN and no other", "", float,
                   double) {
  for (const std::int64_t n_k : {9, 1200})
    for (const std::int64_t at : {0, 4, 8}) {
      auto p = filled_problem<TestType>(Shape{21, n_k, 3, 2});
      p.q.for_each_place([&](auto, auto, auto i, auto) { p.q.at(0, 0, i, 0) = i == 5 ? 1 : 0; });
      const auto clean = p;
      p.q.for_each_place([&](auto, auto, auto i, auto c) {
        if (c == 2) p.q.at(0, 0, i, c) = i == 5 ? TestType(kInf) : p.q.at(0, 0, i, c);
      });
      p.k.for_each_place([&](auto, auto, auto j, auto c) {
        if (c == 2) p.k.at(0, 0, j, c) = j == at ? TestType(1) : TestType(-1);
      });
      auto without = clean;
      without.k = p.k;
      INFO("n_k " << n_k << ", key " << at);
      on_every_target([&] {
        const auto r = p.run(), other = without.run();
        for (std::int64_t i = 0; i < 21; ++i) {
          if (i == 5)
            CHECK(all_nan(r, i));
          else
            CHECK(row_bits(r, other, i) == "");
        }
      });
    }
}

TEMPLATE_TEST_CASE("infinities: a score of -inf hides its key, with NaN in its value too", "",
                   float, double) {
  INFO("seed " << test_seed());
  for (const std::int64_t n_q : {1, 5, 30}) {
    auto p = random_problem<TestType>(Shape{n_q, 90, 3, 4}, test_seed());
    for (std::int64_t i = 0; i < n_q; ++i) p.q.at(0, 0, i, 0) = 1;
    auto poisoned = p, short_row = p;
    for (std::int64_t j = 60; j < 90; ++j) {
      p.k.at(0, 0, j, 0) = poisoned.k.at(0, 0, j, 0) = TestType(-kInf);
      for (std::int64_t c = 0; c < 4; ++c)
        poisoned.v.at(0, 0, j, c) = TestType(j % 2 == 0 ? kNaN : kInf);
    }
    short_row.k = p.k.rows(0, 60);
    short_row.v = p.v.rows(0, 60);
    on_every_target([&] {
      const auto hidden = p.run();
      CHECK(bit_difference(poisoned.run(), hidden) == "");
      CHECK(bit_difference(short_row.run(), hidden) == "");
    });
  }
}

TEMPLATE_TEST_CASE("infinities: a visible value follows IEEE arithmetic, underflowed or not", "",
                   float, double) {
  for (const float poison : {kNaN, kInf})
    for (const double score : {0.0, -5000.0}) {
      Problem<TestType> p(Shape{3, 40, 1, 2});
      p.options.scale = 1;
      p.q.fill_value(1);
      p.k.fill_value(0);
      p.v.fill_value(1);
      p.k.at(0, 0, 20, 0) = TestType(score);
      p.v.at(0, 0, 20, 1) = TestType(poison);
      INFO("value " << poison << ", score " << score);
      on_every_path(p, [&](const auto& r) {
        CHECK(r.out.at(0, 0, 1, 0) == 1);
        // A weight of exactly 0 times an infinity is NaN.
        const bool infinite = std::isinf(poison) && score == 0;
        CHECK(same_bits(r.out.at(0, 0, 1, 1), TestType(infinite ? kInf : kNaN)));
        CHECK(std::isfinite(r.lse.at(0, 0, 1, 0)));
      });
    }
}
