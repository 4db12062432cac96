// CASES.md: rows that see nothing, and keys that are hidden, whatever hides them.
#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "lookback/hooks.hpp"
#include "support/cases.hpp"
#include "support/every_path.hpp"
#include "support/options_reference.hpp"
#include "support/spellings.hpp"

using namespace lookback::test;
using lookback::Documents;
using lookback::Position;
using lookback::Type;
using lookback::Window;

namespace {

constexpr double kInf = INFINITY;
constexpr float kNaN = NAN;
using Rows = std::vector<std::int64_t>;

bool holds_row(const Rows& rows, std::int64_t i) {
  return std::find(rows.begin(), rows.end(), i) != rows.end();
}

/// Empty rows are 0 and -inf, all others as without the empty ones, to the bit.
template <class T>
std::string empty_rows_difference(const Result<T>& with, const Result<T>& without,
                                  const Rows& empty) {
  Difference found;
  for (std::int64_t i = 0; i < with.out.extent(2); ++i) {
    const bool sees = !holds_row(empty, i);
    const T lse = sees ? without.lse.at(0, 0, i, 0) : T(-kInf);
    found.expect(same_bits(with.lse.at(0, 0, i, 0), lse), with.lse.at(0, 0, i, 0), lse, "lse", i);
    for (std::int64_t c = 0; c < with.out.extent(3); ++c) {
      const T out = sees ? without.out.at(0, 0, i, c) : T(0);
      found.expect(same_bits(with.out.at(0, 0, i, c), out), with.out.at(0, 0, i, c), out, i, c);
    }
  }
  return found.text();
}

/// In every spelling and through every path, with what nobody sees poisoned.
template <class T>
void check_empty_rows(const Problem<T>& plain, const Rows& empty) {
  const Sees sees = [&](auto, auto, auto i, auto) { return !holds_row(empty, i); };
  auto with_documents = plain;
  Rows queries, keys(static_cast<std::size_t>(plain.k.extent(2)), 7);
  for (std::int64_t i = 0; i < plain.q.extent(2); ++i)
    queries.push_back(holds_row(empty, i) ? -1 : 7);
  with_documents.options.documents = Documents{queries, keys};
  for_every_path([&](const auto&, int threads) {
    const auto without = plain.run_on_threads(threads);
    CHECK(empty_rows_difference(with_documents.run_on_threads(threads), without, empty) == "");
  });
  for (const auto& spelling : spellings(plain, sees)) {
    INFO(spelling.name);
    for_every_path([&](const auto&, int threads) {
      const auto without = plain.run_on_threads(threads);
      CHECK(empty_rows_difference(spelling.problem().run_on_threads(threads), without, empty) ==
            "");
    });
  }
}

}  // namespace

TEST_CASE("B01 the numbers of the case in every spelling of the empty row") {
  auto plain = filled_problem<float>(Shape{3, 4, 4, 4});
  plain.options.scale = 0.5;
  const auto all = spellings(plain, [](auto, auto, auto i, auto) { return i != 1; });
  for (const auto& spelling : all) {
    INFO(spelling.name);
    through_every_path(spelling.problem(), [](const auto& r) {
      CHECK(row_difference(r.out, 0, 0, std::array{-2.092984, -1.092984, -0.0929844, -1.450429}) ==
            "");
      CHECK(row_difference(r.out, 0, 2, std::array{-2.057158, -1.057158, -0.0571576, -1.462578}) ==
            "");
      CHECK(near(r.lse.at(0, 0, 0, 0), 1.3840671L));
      CHECK(near(r.lse.at(0, 0, 2, 0), 1.3639207L));
      CHECK(r.lse.at(0, 0, 1, 0) == float(-kInf));
      for (int c = 0; c < 4; ++c) CHECK(r.out.at(0, 0, 1, c) == 0);
    });
  }
}

TEMPLATE_TEST_CASE("B01 empty rows first, last, leading a block and inside one", "", float,
                   double) {
  INFO("seed " << test_seed());
  for (const std::int64_t n_k : {4, 600}) {
    const std::int64_t n_q = 32;
    const auto plain = random_problem<TestType>(Shape{n_q, n_k, 4, 3}, test_seed());
    Rows leading(14), all(32);
    for (std::size_t i = 0; i < 32; ++i) {
      if (i < 14) leading[i] = static_cast<std::int64_t>(i);
      all[i] = static_cast<std::int64_t>(i);
    }
    for (const Rows& empty : {Rows{0}, Rows{n_q - 1}, Rows{17}, leading, all}) {
      INFO("n_k " << n_k << ", " << empty.size() << " empty from row " << empty[0]);
      check_empty_rows(plain, empty);
    }
  }
}

TEMPLATE_TEST_CASE("B01 rows emptied by causal and window at either end", "", float, double) {
  INFO("seed " << test_seed());
  const std::int64_t n_q = 32, n_k = 700;
  auto p = random_problem<TestType>(Shape{n_q, n_k, 4, 3}, test_seed());
  p.options.causal = true;
  p.options.window = Window{.left = 5, .right = {}};
  for (const std::int64_t offset : {std::int64_t{-14}, std::int64_t{-40}, n_k - 10, n_k + 40}) {
    p.options.position = Position::at(offset);
    INFO("offset " << offset);
    const OptionsExpected<TestType> expected(p);
    through_paths_in_place(p, [&](const auto& r) {
      CHECK(expected.difference_from(r) == "");
      for (std::int64_t i = 0; i < n_q; ++i) {
        const bool sees = i + offset >= 0 && i + offset - 5 < n_k;
        CHECK(std::isinf(r.lse.at(0, 0, i, 0)) == !sees);
      }
    });
  }
}

TEMPLATE_TEST_CASE("B01 and B10 in one call: NaN queries that see and that do not", "", float,
                   double) {
  INFO("seed " << test_seed());
  const std::int64_t n_q = 20;
  const auto plain = random_problem<TestType>(Shape{n_q, 140, 4, 3}, test_seed());
  auto with_nan = plain;
  with_nan.q.at(0, 0, 5, 2) = with_nan.q.at(0, 0, 6, 1) = kNaN;
  const Sees sees = [](auto, auto, auto i, auto) { return i != 5 && i != 9; };
  const auto clean = spellings(plain, sees), all = spellings(with_nan, sees);
  for (std::size_t s = 0; s < all.size(); ++s) {
    INFO(all[s].name);
    for_every_path([&](const auto&, int threads) {
      const auto r = all[s].problem().run_on_threads(threads);
      const auto without = clean[s].problem().run_on_threads(threads);
      for (std::int64_t i = 0; i < n_q; ++i) {
        CHECK(std::isnan(r.lse.at(0, 0, i, 0)) == (i == 6));
        if (i == 6) continue;
        CHECK(bit_difference(r.out.rows(i, 1), without.out.rows(i, 1)) == "");
      }
      CHECK(r.lse.at(0, 0, 5, 0) == TestType(-kInf));
      CHECK(r.out.at(0, 0, 5, 0) == 0);
    });
  }
}

TEST_CASE("B03 large negative scores beside hidden tiles, whatever hides them") {
  Problem<float> plain(Shape{1, 300, 1, 1});
  plain.options.scale = 1;
  plain.q.fill_value(1);
  for (std::int64_t j = 0; j < 300; ++j) {
    plain.k.at(0, 0, j, 0) = static_cast<float>(-200 - j % 3);
    plain.v.at(0, 0, j, 0) = static_cast<float>(j % 7);
  }
  const auto check = [&](const Sees& sees, Real out, Real lse) {
    auto poisoned = plain;
    poison_unseen(poisoned, sees);
    for (const auto& spelling : spellings(poisoned, sees)) {
      INFO(spelling.name);
      through_every_path(spelling.problem(), [&](const auto& r) {
        CHECK(near(r.out.at(0, 0, 0, 0), out));
        CHECK(near(r.lse.at(0, 0, 0, 0), lse));
      });
    }
  };
  check([](auto, auto, auto, auto j) { return j >= 256; }, 3.029634L, -196.92971L);
  check([](auto, auto, auto, auto j) { return j < 44; }, 2.833321L, -196.89036L);
}

TEST_CASE("B03 a constant added to all scores moves the lse by it and the context not at all") {
  // Scores and constants are whole numbers, so that the sums are exact.
  for (const std::int64_t n_q : {1, 3, 40}) {
    Problem<float> plain(Shape{n_q, 700, 1, 3});
    plain.options.scale = 1;
    plain.q.fill_value(1);
    std::int64_t next = 0;
    plain.k.fill([&] { return -200 - double(next++ % 7); });
    next = 0;
    plain.v.fill([&] { return value_fill(next++); });
    for (const double constant : {-3e4, -200.0, 0.0, 200.0, 3e4}) {
      StoredArray bias(Type::float32, {1, 1, 1, 1});
      bias.set(0, 0, 0, 0, constant);
      lookback::AddConstant added{static_cast<float>(constant)};
      auto with_bias = plain, with_hook = plain;
      with_bias.options.bias = bias.view();
      with_hook.options.hook = lookback::ScoreHook{lookback::AddConstant::hook, &added};
      INFO("n_q " << n_q << ", constant " << constant);
      for_every_path([&](const auto&, int threads) {
        const auto before = plain.run_on_threads(threads);
        for (const auto& p : {with_bias, with_hook}) {
          const auto after = p.run_on_threads(threads);
          CHECK(bit_difference(after.out, before.out) == "");
          CHECK(near(after.lse.at(0, 0, 0, 0), Real(before.lse.at(0, 0, 0, 0)) + constant));
        }
      });
    }
  }
}

TEST_CASE("B11 the numbers of the case, with NaN and more behind the mask") {
  Problem<float> plain(Shape{2, 2, 4, 4});
  plain.options.scale = 0.5;
  for (auto* array : {&plain.q, &plain.k, &plain.v}) {
    float next = 0;
    array->fill([&] { return next++; });
  }
  for (const float poison : {1e10f, kNaN, float(kInf), float(-kInf)})
    for (const bool in_key : {true, false}) {
      auto p = plain;
      (in_key ? p.k : p.v).at(0, 0, 1, 0) = poison;
      for (const auto& spelling : spellings(p, [](auto, auto, auto, auto j) { return j == 0; })) {
        INFO(spelling.name << ", " << poison << (in_key ? " in k" : " in v"));
        through_every_path(spelling.problem(), [](const auto& r) {
          for (const int i : {0, 1}) {
            CHECK(row_difference(r.out, 0, i, std::array{0.0, 1.0, 2.0, 3.0}) == "");
            CHECK(r.lse.at(0, 0, i, 0) == (i == 0 ? 7 : 19));
          }
        });
      }
    }
}

TEMPLATE_TEST_CASE("B11 in a speckled mask a key is NaN only to the rows that see it", "", float,
                   double) {
  INFO("seed " << test_seed());
  const std::int64_t n_q = 37, n_k = 150;
  const auto clean = random_problem<TestType>(Shape{n_q, n_k, 6, 5}, test_seed());
  const Sees sees = [](auto, auto, auto i, auto j) { return (i * 7 + j * 5) % 11 > 4 || i == 3; };
  const std::int64_t key = GENERATE(0, 15, 16, 127, 128, 149);
  const bool in_key = GENERATE(true, false);
  auto p = clean;
  (in_key ? p.k : p.v).at(0, 0, key, 2) = kNaN;
  const auto clean_spellings = spellings(clean, sees), all = spellings(p, sees);
  for (std::size_t s = 0; s < all.size(); ++s) {
    INFO(all[s].name << ", key " << key << (in_key ? " in k" : " in v"));
    for_every_path([&](const auto&, int threads) {
      const auto with = all[s].problem().run_on_threads(threads);
      const auto without = clean_spellings[s].problem().run_on_threads(threads);
      Difference found;
      for (std::int64_t i = 0; i < n_q; ++i) {
        const bool touched = sees(0, 0, i, key);
        const auto lse = with.lse.at(0, 0, i, 0);
        const auto wanted = touched && in_key ? TestType(kNaN) : without.lse.at(0, 0, i, 0);
        found.expect(same_bits(lse, wanted), lse, wanted, "lse", i);
        for (std::int64_t c = 0; c < 5; ++c) {
          const bool nan = touched && (in_key || c == 2);
          const auto out = with.out.at(0, 0, i, c);
          const auto expected = nan ? TestType(kNaN) : without.out.at(0, 0, i, c);
          found.expect(same_bits(out, expected), out, expected, i, c);
        }
      }
      CHECK(found.text() == "");
    });
  }
}
