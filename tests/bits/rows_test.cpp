// The same bits: a row gives what it gives whatever came with it. Every comparison is exact.
#include <algorithm>

#include "catch.hpp"
#include "support/problem.hpp"

using namespace lookback::test;
using lookback::Position;

namespace {

/// Lengths of one block, one chunk, a chunk and a tail, and several chunks.
constexpr std::int64_t kLengths[] = {37, 512, 700, 1500, 5000};
/// Around the lanes and tiles of both kernels.
constexpr std::int64_t kRowCounts[] = {1, 2, 5, 8, 9, 16, 17, 33, 49};

template <class T>
Problem<T> rows_of(const Problem<T>& p, std::int64_t first, std::int64_t count) {
  Problem<T> part(p.q.rows(first, count), p.k, p.v, p.options);
  if (p.options.causal) {
    const std::int64_t offset =
        p.options.position.value_or(Position::top_left()).offset(p.q.extent(2), p.k.extent(2));
    part.options.position = Position::at(offset + first);
  }
  return part;
}

template <class T>
Result<T> rows_of(const Result<T>& r, std::int64_t first, std::int64_t count) {
  return {r.out.rows(first, count), r.lse.rows(first, count)};
}

/// Every count of rows, starting at several rows, beside all rows in one call.
template <class T>
void check_any_rows(const Problem<T>& p) {
  const std::int64_t n_q = p.q.extent(2);
  on_every_target([&] {
    const auto whole = p.run();
    for (const std::int64_t count : kRowCounts)
      for (const std::int64_t first : {std::int64_t{0}, n_q / 3, n_q - count}) {
        if (count > n_q) continue;
        INFO("rows " << first << " to " << first + count);
        CHECK(bit_difference(rows_of(p, first, count).run(), rows_of(whole, first, count)) == "");
      }
  });
}

}  // namespace

TEMPLATE_TEST_CASE("bits: a few query rows give the bits of the same rows of a prefill", "", float,
                   double) {
  INFO("seed " << test_seed());
  for (const std::int64_t n_k : kLengths) {
    INFO("n_k " << n_k);
    check_any_rows(random_problem<TestType>(Shape{131, n_k, 24, 17}, test_seed()));
  }
}

TEMPLATE_TEST_CASE("bits: the same with causal, a temperature and a scale", "", float, double) {
  INFO("seed " << test_seed());
  for (const std::int64_t n_k : kLengths) {
    INFO("n_k " << n_k);
    auto p = random_problem<TestType>(Shape{131, n_k, 24, 17}, test_seed());
    p.options = causal_at(Position::bottom_right());
    p.options.temperature = 0.7;
    p.options.scale = 0.3;
    check_any_rows(p);
    p.options.position = Position::at(n_k / 2);
    check_any_rows(p);
  }
}

TEMPLATE_TEST_CASE("bits: row t of a causal run is one query against the first t + 1 keys", "B18",
                   float, double) {
  INFO("seed " << test_seed());
  auto p = random_problem<TestType>(Shape{1300, 1300, 12, 9}, test_seed());
  p.options.causal = true;
  on_every_target([&] {
    const auto whole = p.run();
    Random random(test_seed());
    std::vector<std::int64_t> rows{0,   1,   7,   8,   15,  16,  17,   31,   63,  64,
                                   127, 128, 255, 511, 512, 513, 1023, 1024, 1299};
    for (int draw = 0; draw < 40; ++draw) rows.push_back(random.integer(0, 1299));
    for (const std::int64_t t : rows) {
      const Problem<TestType> alone(p.q.rows(t, 1), p.k.rows(0, t + 1), p.v.rows(0, t + 1));
      INFO("row " << t);
      CHECK(bit_difference(alone.run(), rows_of(whole, t, 1)) == "");
    }
  });
}

TEMPLATE_TEST_CASE("bits: keys after the last visible one change nothing", "", float, double) {
  INFO("seed " << test_seed());
  auto p = random_problem<TestType>(Shape{40, 2000, 12, 9}, test_seed());
  for (const std::int64_t seen : {1, 5, 100, 511, 512, 513, 1024, 1999}) {
    INFO("visible keys of the last row " << seen);
    p.options = causal_at(Position::at(seen - 40));
    Problem<TestType> cut(p.q, p.k.rows(0, seen), p.v.rows(0, seen), p.options);
    on_every_target([&] { CHECK(bit_difference(p.run(), cut.run()) == ""); });
  }
}

TEMPLATE_TEST_CASE("bits: a sequence alone and in a batch", "", float, double) {
  INFO("seed " << test_seed());
  for (const std::int64_t n_q : {1, 20, 100})
    for (const std::int64_t n_k : {60, 1100}) {
      const Shape shape{.n_q = n_q, .n_k = n_k, .d = 16, .d_v = 11, .B = 5, .H = 4, .H_kv = 2};
      INFO(shape);
      const auto batch = random_problem<TestType>(shape, test_seed());
      on_every_target([&] {
        const auto together = batch.run();
        for (std::int64_t b = 0; b < shape.B; ++b) {
          const auto of = [b](const Array<TestType>& a) {
            return a.part({b, 0, 0, 0}, {1, a.extent(1), a.extent(2), a.extent(3)});
          };
          const Problem<TestType> alone(of(batch.q), of(batch.k), of(batch.v));
          CHECK(bit_difference(alone.run(), {of(together.out), of(together.lse)}) == "");
        }
      });
    }
}

TEMPLATE_TEST_CASE("bits: a head alone, in a group and with K and V repeated", "", float, double) {
  INFO("seed " << test_seed());
  for (const std::int64_t n_q : {1, 3, 60})
    for (const std::int64_t n_k : {45, 1600}) {
      const Shape shape{.n_q = n_q, .n_k = n_k, .d = 16, .d_v = 11, .B = 1, .H = 12, .H_kv = 2};
      INFO(shape);
      const auto grouped = random_problem<TestType>(shape, test_seed());
      on_every_target([&] {
        const auto together = grouped.run();
        for (std::int64_t h = 0; h < shape.H; ++h) {
          const auto head = [](const Array<TestType>& a, std::int64_t at) {
            return a.part({0, at, 0, 0}, {1, 1, a.extent(2), a.extent(3)});
          };
          const Problem<TestType> alone(head(grouped.q, h), head(grouped.k, h / 6),
                                        head(grouped.v, h / 6));
          CHECK(bit_difference(alone.run(), {head(together.out, h), head(together.lse, h)}) == "");
        }
      });
    }
}

TEMPLATE_TEST_CASE("bits: asking for the lse does not change out", "", float, double) {
  INFO("seed " << test_seed());
  for (const std::int64_t n_q : {1, 90}) {
    const auto p = random_problem<TestType>(Shape{n_q, 1100, 16, 11}, test_seed());
    on_every_target([&] {
      Array<TestType> out({1, 1, n_q, 11});
      attend(p.q.view(), p.k.view(), p.v.view(), {out.output()});
      CHECK(bit_difference(out, p.run().out) == "");
    });
  }
}

TEMPLATE_TEST_CASE("bits: one column of v alone and beside others", "", float, double) {
  INFO("seed " << test_seed());
  for (const std::int64_t n_q : {1, 40}) {
    const auto p = random_problem<TestType>(Shape{n_q, 800, 16, 70}, test_seed());
    on_every_target([&] {
      const auto whole = p.run();
      for (const std::int64_t c : {0, 15, 16, 33, 69}) {
        const auto column = [c](const Array<TestType>& a) {
          return a.part({0, 0, 0, c}, {1, 1, a.extent(2), 1});
        };
        const Problem<TestType> alone(p.q, p.k, column(p.v));
        CHECK(bit_difference(alone.run().out, column(whole.out)) == "");
      }
    });
  }
}
