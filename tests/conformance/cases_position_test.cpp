// CASES.md: where a row stands, how many keys it sees, and which way round a mask is.
#include <cmath>

#include "catch.hpp"
#include "support/cases.hpp"
#include "support/every_path.hpp"
#include "support/options_reference.hpp"
#include "support/spellings.hpp"

using namespace lookback::test;
using lookback::Position;
using lookback::Target;
using lookback::Type;
using lookback::Window;

namespace {

constexpr float kNaN = NAN;

/// Rows [first, first + count) of a problem, each standing where it stood.
template <class T>
Problem<T> some_rows(const Problem<T>& p, std::int64_t first, std::int64_t count,
                     std::int64_t offset) {
  Problem<T> part(p.q.rows(first, count), p.k, p.v, p.options);
  part.options.position = Position::at(offset + first);
  return part;
}

template <class T>
Result<T> rows_of(const Result<T>& r, std::int64_t first, std::int64_t count) {
  return {r.out.rows(first, count), r.lse.rows(first, count)};
}

/// The cache of B21 with NaN past each length.
Problem<float> cache_problem() {
  auto p = filled_problem<float>(Shape{.n_q = 2, .n_k = 6, .d = 4, .d_v = 4, .B = 2});
  p.options.scale = 0.5;
  p.options.causal = true;
  for (std::int64_t j = 4; j < 6; ++j)
    for (std::int64_t c = 0; c < 4; ++c) p.k.at(0, 0, j, c) = p.v.at(0, 0, j, c) = kNaN;
  return p;
}

void check_cache(const Result<float>& r) {
  const Array<float> second = r.out.part({1, 0, 0, 0}, {1, 1, 2, 4});
  CHECK(row_difference(r.out, 0, 0, std::array{-1.551605, -0.5516046, 0.4483954, -1.5783}) == "");
  CHECK(row_difference(r.out, 0, 1, std::array{-1.843268, -0.843268, 0.156732, -1.584118}) == "");
  CHECK(row_difference(second, 0, 0, std::array{0.5423217, -0.4430726, 0.5569274, 1.556927}) == "");
  CHECK(row_difference(second, 0, 1, std::array{-0.2313071, -1.046121, -0.0461212, 0.9538788}) ==
        "");
}

}  // namespace

TEST_CASE("B21 lengths per sequence anchor the last query at the last key that counts") {
  auto p = cache_problem();
  const std::int64_t lengths[] = {4, 6}, offsets[] = {2, 4};
  p.options.lengths = lengths;
  p.options.position = Position::bottom_right();
  through_every_path(p, check_cache);
  auto explicit_offsets = p;
  explicit_offsets.options.position = Position::per_sequence(offsets);
  through_every_path(explicit_offsets, check_cache);
  for_every_path([&](const auto&, int threads) {
    CHECK(bit_difference(p.run_on_threads(threads), explicit_offsets.run_on_threads(threads)) ==
          "");
  });
  // Causal at the right offsets hides the same keys without the lengths.
  auto no_lengths = explicit_offsets;
  no_lengths.options.lengths.reset();
  through_every_path(no_lengths, check_cache);
}

TEMPLATE_TEST_CASE("B21 every length from 0 to the capacity in one batch", "", float, double) {
  INFO("seed " << test_seed());
  const std::int64_t n_q = GENERATE(1, 5), capacity = 9;
  const Shape shape{.n_q = n_q, .n_k = capacity, .d = 4, .d_v = 3, .B = 10, .H = 2, .H_kv = 1};
  auto p = random_problem<TestType>(shape, test_seed());
  std::vector<std::int64_t> lengths;
  for (std::int64_t b = 0; b < 10; ++b) lengths.push_back(b);
  p.options.lengths = lengths;
  p.options.causal = GENERATE(true, false);
  if (p.options.causal) p.options.position = Position::bottom_right();
  const OptionsReference<TestType> reference(p);
  poison_unseen(p, [&](auto b, auto h, auto i, auto j) { return reference.sees(b, h, i, j); });
  check_every_path_against_reference(p);
  // Each sequence alone, cut to its length, in the same bits.
  for_every_path([&](const auto&, int threads) {
    const auto together = p.run_on_threads(threads);
    for (std::int64_t b = 0; b < 10; ++b) {
      Problem<TestType> alone(p.q.part({b, 0, 0, 0}, {1, 2, n_q, 4}),
                              p.k.part({b, 0, 0, 0}, {1, 1, b, 4}),
                              p.v.part({b, 0, 0, 0}, {1, 1, b, 3}), p.options);
      alone.options.lengths.reset();
      const Result<TestType> mine{together.out.part({b, 0, 0, 0}, {1, 2, n_q, 3}),
                                  together.lse.part({b, 0, 0, 0}, {1, 2, n_q, 1})};
      CHECK(bit_difference(alone.run_on_threads(threads), mine) == "");
    }
  });
}

TEST_CASE("B23 a window counts the keys beside the row's own") {
  auto p = filled_problem<float>(Shape{6, 6, 4, 4});
  p.options.scale = 0.5;
  p.options.causal = true;
  p.options.window = Window{.left = 2, .right = {}};
  through_every_path(p, [](const auto& r) {
    CHECK(row_difference(r.out, 0, 3, std::array{-0.0572579, 0.9427421, 1.942742, -1.942742}) ==
          "");
    CHECK(near(r.lse.at(0, 0, 3, 0), 1.3116269L));
  });
  p.options.window = Window{.left = 3, .right = {}};
  through_every_path(p, [](const auto& r) {
    CHECK(row_difference(r.out, 0, 3, std::array{-0.8924801, 0.1075199, 1.10752, -1.952418}) == "");
    CHECK(near(r.lse.at(0, 0, 3, 0), 1.4967277L));
  });
}

TEST_CASE("B23 the number of visible keys, counted by the lse of equal scores") {
  const std::int64_t n = GENERATE(6, 131, 700);
  Problem<float> p(Shape{n, n, 1, 1});
  p.q.fill_value(0);
  p.k.fill_value(0);
  p.v.fill_value(1);
  using Side = std::optional<std::int64_t>;
  for (const bool causal : {true, false})
    for (const Side left : {Side{}, Side{0}, Side{2}, Side{127}, Side{INT64_MAX}})
      for (const Side right : {Side{}, Side{0}, Side{3}, Side{INT64_MAX}}) {
        p.options.causal = causal;
        p.options.window = Window{.left = left, .right = right};
        INFO("n " << n << ", causal " << causal << ", left " << left.value_or(-1) << ", right "
                  << right.value_or(-1));
        through_paths_in_place(p, [&](const auto& r) {
          Difference found;
          for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t before = std::min(i, left.value_or(i));
            const std::int64_t after = causal ? 0 : std::min(n - 1 - i, right.value_or(n));
            const Real lse = r.lse.at(0, 0, i, 0), count = std::log(Real(before + after + 1));
            found.expect(close(lse, count, 1e-6L), lse, count, i);
            const Real out = r.out.at(0, 0, i, 0);
            found.expect(close(out, 1, 0x1p-23L), out, 1, "out", i);
          }
          CHECK(found.text() == "");
        });
      }
}

TEST_CASE("B25 a window of three keys, the last two rows in a call of their own") {
  auto p = filled_problem<float>(Shape{6, 6, 4, 4});
  p.options.scale = 0.5;
  p.options.causal = true;
  p.options.window = Window{.left = 2, .right = {}};
  const auto last = some_rows(p, 4, 2, 0);
  for (const auto& [problem, first] : {std::pair{p, 4}, std::pair{last, 0}})
    through_every_path(problem, [row = first](const auto& r) {
      CHECK(row_difference(r.out, 0, row,
                           std::array{-0.3970746, 0.6029254, 1.602925, -0.5323076}) == "");
      CHECK(row_difference(r.out, 0, row + 1,
                           std::array{0.0427354, 1.042735, -1.777049, -0.7770491}) == "");
    });
}

TEMPLATE_TEST_CASE("B25 any split of the queries into calls gives the same bits", "", float,
                   double) {
  INFO("seed " << test_seed());
  Random random(test_seed());
  const std::int64_t n_q = 23, n_k = 540;
  auto p = random_problem<TestType>(
      Shape{.n_q = n_q, .n_k = n_k, .d = 5, .d_v = 3, .B = 1, .H = 3, .H_kv = 1}, test_seed());
  const std::vector<double> slopes{0.5, -0.25, 0.0};
  for (int turn = 0; turn < 12; ++turn) {
    p.options.alibi.reset();
    if (turn % 3 == 0) p.options.alibi = slopes;
    p.options.causal = turn % 2 == 0;
    p.options.window = Window{.left = random.integer(0, 200), .right = random.integer(0, 100)};
    p.options.prefix.reset();
    if (turn % 4 == 1) p.options.prefix = random.integer(0, 300);
    const std::int64_t offset = random.integer(-20, n_k);
    const std::int64_t cut = random.integer(1, n_q - 1);
    p.options.position = Position::at(offset);
    const auto head = some_rows(p, 0, cut, offset), tail = some_rows(p, cut, n_q - cut, offset);
    INFO("turn " << turn << ", offset " << offset << ", cut at " << cut);
    SameBits<Result<TestType>> bits;
    for_every_path([&](const Target& target, int threads) {
      const auto whole = p.run_on_threads(threads);
      CHECK(bit_difference(head.run_on_threads(threads), rows_of(whole, 0, cut)) == "");
      CHECK(bit_difference(tail.run_on_threads(threads), rows_of(whole, cut, n_q - cut)) == "");
      CHECK(bits.difference(target, whole, [](const auto& a, const auto& b) {
        return bit_difference(a, b);
      }) == "");
    });
    CHECK(OptionsExpected<TestType>(p).difference_from(p.run()) == "");
  }
}

TEST_CASE("B43 true is visible, and numbers are added") {
  auto p = filled_problem<float>(Shape{2, 3, 4, 4});
  p.options.scale = 0.5;
  const auto keep = [](auto, auto, auto i, auto j) { return j <= i; };
  const StoredArray kept = boolean_array({1, 1, 2, 3}, keep);
  const StoredArray dropped = boolean_array(
      {1, 1, 2, 3}, [&](auto b, auto h, auto i, auto j) { return !keep(b, h, i, j); });
  p.options.mask = kept.view();
  through_every_path(p, [](const auto& r) {
    CHECK(row_difference(r.out, 0, 0, std::array{-5.0, -4.0, -3.0, -2.0}) == "");
    CHECK(row_difference(r.out, 0, 1, std::array{-2.93752, -1.93752, -0.9375203, 0.0624797}) == "");
  });
  p.options.mask = dropped.view();
  through_every_path(p, [](const auto& r) {
    CHECK(row_difference(r.out, 0, 0, std::array{0.8751625, 1.875163, 2.875163, -1.281534}) == "");
  });
  p.options.mask.reset();
  for (const Type type : {Type::float32, Type::float16, Type::bfloat16}) {
    const StoredArray added = stored_as(type, kept.view());
    p.options.bias = added.view();
    through_every_path(p, [](const auto& r) {
      CHECK(row_difference(r.out, 0, 0, std::array{-2.983094, -1.983094, -0.9830943, -1.753355}) ==
            "");
    });
  }
}

TEST_CASE("B43 any byte but 0 is true") {
  auto p = filled_problem<float>(Shape{2, 200, 4, 4});
  std::vector<std::uint8_t> bytes;
  for (int j = 0; j < 200; ++j) bytes.push_back(static_cast<std::uint8_t>(j % 5 == 0 ? 0 : j + 56));
  p.options.mask = lookback::Tensor{bytes.data(), Type::boolean, {1, 1, 1, 200}, {0, 0, 0, 1}};
  check_every_path_against_reference(p);
  auto as_ones = p;
  const StoredArray ones = boolean_array(
      {1, 1, 2, 200}, [](auto, auto, auto, auto j) { return j % 5 != 0; }, Layout::padded_rows);
  as_ones.options.mask = ones.view();
  for_every_path([&](const auto&, int threads) {
    CHECK(bit_difference(p.run_on_threads(threads), as_ones.run_on_threads(threads)) == "");
  });
}
