// Causal rows at every kind of position.
#include <cmath>

#include "catch.hpp"
#include "support/problem.hpp"

using namespace lookback::test;
using lookback::Position;

TEMPLATE_TEST_CASE("causal: every explicit offset, from before the keys to after them", "", float,
                   double) {
  INFO("seed " << test_seed());
  auto p = random_problem<TestType>(Shape{7, 11, 5, 3}, test_seed());
  for (std::int64_t offset = -9; offset <= 13; ++offset) {
    INFO("offset " << offset);
    p.options = causal_at(Position::at(offset));
    check_against_reference(p);
  }
}

TEMPLATE_TEST_CASE("causal: top-left and bottom-right with n_q below, at and above n_k", "", float,
                   double) {
  INFO("seed " << test_seed());
  for (const std::int64_t n_q : {1, 5, 64, 100, 130})
    for (const std::int64_t n_k : {1, 63, 100, 600}) {
      auto p = random_problem<TestType>(Shape{n_q, n_k, 6, 4}, test_seed());
      INFO("n_q " << n_q << ", n_k " << n_k);
      p.options = causal_at(Position::top_left());
      check_against_reference(p);
      p.options = causal_at(Position::bottom_right());
      check_against_reference(p);
    }
}

TEST_CASE("causal: with as many queries as keys the position is 0 unless said") {
  INFO("seed " << test_seed());
  auto p = random_problem<float>(Shape{40, 40, 6, 5}, test_seed());
  p.options.causal = true;
  check_against_reference(p);
  on_every_target([&] {
    const auto unsaid = p.run();
    for (const Position position :
         {Position::top_left(), Position::bottom_right(), Position::at(0)})
      CHECK(bit_difference(p.run_with(causal_at(position)), unsaid) == "");
  });
}

TEST_CASE("causal: a position without causal changes nothing") {
  INFO("seed " << test_seed());
  auto p = random_problem<float>(Shape{5, 40, 6, 5}, test_seed());
  on_every_target([&] {
    const auto plain = p.run();
    lookback::Options placed;
    placed.position = Position::at(-1000);
    CHECK(bit_difference(p.run_with(placed), plain) == "");
  });
}

TEMPLATE_TEST_CASE("causal: rows before the first key see nothing", "", float, double) {
  INFO("seed " << test_seed());
  auto p = random_problem<TestType>(Shape{50, 20, 6, 5}, test_seed());
  for (const std::int64_t offset : {-1, -15, -17, -33, -49, -50, -1000}) {
    INFO("offset " << offset);
    p.options = causal_at(Position::at(offset));
    on_every_target([&] {
      const auto result = p.run();
      for (std::int64_t i = 0; i < std::min<std::int64_t>(50, -offset); ++i) {
        CHECK(result.lse.at(0, 0, i, 0) == -INFINITY);
        for (std::int64_t c = 0; c < 5; ++c) CHECK(result.out.at(0, 0, i, c) == 0);
      }
    });
    check_against_reference(p);
  }
}

TEST_CASE("causal: extreme offsets do not overflow") {
  INFO("seed " << test_seed());
  auto p = random_problem<float>(Shape{5, 40, 6, 5}, test_seed());
  on_every_target([&] {
    const auto plain = p.run();
    CHECK(bit_difference(p.run_with(causal_at(Position::at(INT64_MAX))), plain) == "");
    const auto empty = p.run_with(causal_at(Position::at(INT64_MIN)));
    for (std::int64_t i = 0; i < 5; ++i) CHECK(empty.lse.at(0, 0, i, 0) == -INFINITY);
  });
}

TEST_CASE("causal: long sequences, every chunk boundary") {
  INFO("seed " << test_seed());
  auto p = random_problem<float>(Shape{1100, 1100, 8, 4}, test_seed());
  p.options.causal = true;
  on_every_target([&] {
    const auto result = p.run();
    for (const std::int64_t i : {0, 1, 15, 16, 63, 64, 127, 128, 511, 512, 513, 1023, 1024, 1099}) {
      const auto row = p.reference_row(0, 0, i);
      const auto bound =
          error_bound<float>(p.q.view(), p.k.view(), p.v.view(), p.formula(), row, 0, 0, i);
      for (std::int64_t c = 0; c < 4; ++c) {
        const auto at = static_cast<std::size_t>(c);
        CHECK(close(result.out.at(0, 0, i, c), row.out[at], bound.out[at]));
      }
      CHECK(close(result.lse.at(0, 0, i, 0), row.lse, bound.lse));
    }
  });
}
