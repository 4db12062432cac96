// CASES.md for packed sequences: each is its own world, whatever stands beside it.
#include <cmath>

#include "catch.hpp"
#include "support/cases.hpp"
#include "support/every_path.hpp"
#include "support/options_reference.hpp"

using namespace lookback::test;
using lookback::Options;
using lookback::Position;
using lookback::Window;

namespace {

using Numbers = std::vector<std::int64_t>;

Numbers bounds_of(const Numbers& counts) {
  Numbers bounds{0};
  for (const std::int64_t n : counts) bounds.push_back(bounds.back() + n);
  return bounds;
}

/// Sequences packed along the tokens, and each of them alone.
template <class T>
struct Packed {
  Numbers q_bounds, k_bounds;
  Problem<T> together;

  Packed(const Numbers& q_counts, const Numbers& k_counts, std::int64_t H, std::int64_t H_kv,
         std::uint64_t seed)
      : q_bounds(bounds_of(q_counts)),
        k_bounds(bounds_of(k_counts)),
        together(random_problem<T>(Shape{.n_q = q_bounds.back(),
                                         .n_k = k_bounds.back(),
                                         .d = 4,
                                         .d_v = 3,
                                         .B = 1,
                                         .H = H,
                                         .H_kv = H_kv},
                                   seed, Layout::positions_first)) {
    together.options.q_bounds = q_bounds;
    together.options.k_bounds = k_bounds;
  }

  std::int64_t sequences() const { return static_cast<std::int64_t>(q_bounds.size()) - 1; }
  std::int64_t first_q(std::int64_t s) const { return q_bounds[static_cast<std::size_t>(s)]; }
  std::int64_t first_k(std::int64_t s) const { return k_bounds[static_cast<std::size_t>(s)]; }
  std::int64_t n_q(std::int64_t s) const { return first_q(s + 1) - first_q(s); }
  std::int64_t n_k(std::int64_t s) const { return first_k(s + 1) - first_k(s); }

  /// With the options as they stand, of which those per sequence are not for one alone.
  Problem<T> alone(std::int64_t s) const {
    Problem<T> p(together.q.rows(first_q(s), n_q(s)), together.k.rows(first_k(s), n_k(s)),
                 together.v.rows(first_k(s), n_k(s)), together.options);
    p.options.q_bounds.reset();
    p.options.k_bounds.reset();
    return p;
  }
  Result<T> rows_of(const Result<T>& r, std::int64_t s) const {
    return {r.out.rows(first_q(s), n_q(s)), r.lse.rows(first_q(s), n_q(s))};
  }
};

/// Each sequence as if alone, to the bit; adjust(alone, s) narrows what is per sequence.
template <class T, class Adjust>
void check_each_alone(const Packed<T>& packed, Adjust adjust) {
  std::vector<Problem<T>> alone;
  for (std::int64_t s = 0; s < packed.sequences(); ++s) {
    alone.push_back(packed.alone(s));
    adjust(alone.back(), s);
  }
  SameBits<Result<T>> bits;
  for_every_path([&](const lookback::Target& target, int threads) {
    const auto together = packed.together.run_on_threads(threads);
    for (std::int64_t s = 0; s < packed.sequences(); ++s) {
      INFO("sequence " << s);
      const auto mine = alone[static_cast<std::size_t>(s)].run_on_threads(threads);
      CHECK(bit_difference(packed.rows_of(together, s), mine) == "");
    }
    CHECK(bits.difference(target, together,
                          [](const auto& a, const auto& b) { return bit_difference(a, b); }) == "");
  });
  for (std::int64_t s = 0; s < packed.sequences(); ++s) {
    INFO("sequence " << s << " against the reference");
    const auto& p = alone[static_cast<std::size_t>(s)];
    CHECK(OptionsExpected<T>(p).difference_from(p.run()) == "");
  }
}

const Numbers kQueries{3, 0, 70, 1, 5, 0}, kKeys{5, 2, 600, 530, 0, 0};

}  // namespace

TEMPLATE_TEST_CASE("packed sequences, empty ones among them, each as if alone", "", float, double) {
  INFO("seed " << test_seed());
  for (const std::int64_t group : {1, 3}) {
    const Packed<TestType> packed(kQueries, kKeys, 2 * group, 2, test_seed());
    check_each_alone(packed, [](auto&, auto) {});
  }
}

TEMPLATE_TEST_CASE("packed B18 B23 B29: causal, window and ALiBi count in each sequence", "", float,
                   double) {
  INFO("seed " << test_seed());
  Packed<TestType> packed(kQueries, kKeys, 4, 2, test_seed());
  Options& options = packed.together.options;
  const std::vector<double> per_head{0.5, 0.1, -0.2, 0};
  const Numbers offsets{2, 0, 530, 529, -3, 7};
  options.causal = true;
  options.alibi = per_head;
  for (const bool window : {false, true}) {
    options.window.reset();
    if (window) options.window = Window{.left = 40, .right = {}};
    for (const auto position : {Position::bottom_right(), Position::top_left(), Position::at(-2)}) {
      options.position = position;
      check_each_alone(packed, [](auto&, auto) {});
    }
    options.position = Position::per_sequence(offsets);
    check_each_alone(packed, [&](Problem<TestType>& alone, std::int64_t s) {
      alone.options.position = Position::at(offsets[static_cast<std::size_t>(s)]);
    });
  }
}

TEMPLATE_TEST_CASE("packed B27: sinks and slopes per sequence and head", "", float, double) {
  INFO("seed " << test_seed());
  Packed<TestType> packed(kQueries, kKeys, 2, 1, test_seed());
  std::vector<double> sinks, slopes;
  for (int i = 0; i < 12; ++i) {
    sinks.push_back(i - 5);
    slopes.push_back(0.03 * i);
  }
  packed.together.options.sinks = sinks;
  packed.together.options.alibi = slopes;
  packed.together.options.position = Position::bottom_right();
  packed.together.options.temperature = 0.7;
  check_each_alone(packed, [&](Problem<TestType>& alone, std::int64_t s) {
    const auto first = static_cast<std::size_t>(2 * s);
    alone.options.sinks = std::span<const double>(sinks).subspan(first, 2);
    alone.options.alibi = std::span<const double>(slopes).subspan(first, 2);
  });
}

TEMPLATE_TEST_CASE("packed documents have one id per token", "", float, double) {
  INFO("seed " << test_seed());
  Packed<TestType> packed(kQueries, kKeys, 2, 1, test_seed());
  Numbers queries, keys;
  for (std::int64_t i = 0; i < packed.q_bounds.back(); ++i) queries.push_back(i % 3);
  for (std::int64_t j = 0; j < packed.k_bounds.back(); ++j) keys.push_back(j / 7 % 4);
  packed.together.options.documents = lookback::Documents{queries, keys};
  check_each_alone(packed, [&](Problem<TestType>& alone, std::int64_t s) {
    const auto slice = [](const Numbers& all, std::int64_t first, std::int64_t count) {
      return std::span<const std::int64_t>(all).subspan(static_cast<std::size_t>(first),
                                                        static_cast<std::size_t>(count));
    };
    alone.options.documents = lookback::Documents{slice(queries, packed.first_q(s), packed.n_q(s)),
                                                  slice(keys, packed.first_k(s), packed.n_k(s))};
  });
}

TEMPLATE_TEST_CASE("packed B11: NaN in one sequence is not seen from another", "", float, double) {
  INFO("seed " << test_seed());
  const Packed<TestType> clean(kQueries, kKeys, 2, 1, test_seed());
  for (std::int64_t s = 0; s < clean.sequences(); ++s) {
    auto packed = clean;
    for (std::int64_t j = clean.first_k(s); j < clean.first_k(s + 1); ++j)
      for (std::int64_t c = 0; c < 3; ++c)
        packed.together.k.at(0, 0, j, c) = packed.together.v.at(0, 0, j, c) = TestType(NAN);
    packed.together.options.q_bounds = packed.q_bounds;
    packed.together.options.k_bounds = packed.k_bounds;
    for_every_path([&](const auto&, int threads) {
      const auto with = packed.together.run_on_threads(threads);
      const auto without = clean.together.run_on_threads(threads);
      for (std::int64_t other = 0; other < clean.sequences(); ++other) {
        INFO("NaN in sequence " << s << ", seen from " << other);
        const auto mine = packed.rows_of(with, other);
        if (other != s)
          CHECK(bit_difference(mine, clean.rows_of(without, other)) == "");
        else if (clean.n_q(s) > 0 && clean.n_k(s) > 0)
          CHECK(std::isnan(mine.lse.at(0, 1, 0, 0)));
      }
    });
  }
}

TEST_CASE("packed B21: the cache of the case with its two sequences packed") {
  const auto cache = filled_problem<float>(Shape{.n_q = 2, .n_k = 6, .d = 4, .d_v = 4, .B = 2});
  const Numbers queries{0, 2, 4}, keys{0, 4, 10};
  Problem<float> p(Shape{4, 10, 4, 4});
  p.q.for_each_place(
      [&](auto, auto, auto i, auto c) { p.q.at(0, 0, i, c) = cache.q.at(i / 2, 0, i % 2, c); });
  for (auto [packed, from] : {std::pair{&p.k, &cache.k}, std::pair{&p.v, &cache.v}})
    packed->for_each_place([to = packed, source = from](auto, auto, auto j, auto c) {
      to->at(0, 0, j, c) = j < 4 ? source->at(0, 0, j, c) : source->at(1, 0, j - 4, c);
    });
  p.options = causal_at(Position::bottom_right());
  p.options.scale = 0.5;
  p.options.q_bounds = queries;
  p.options.k_bounds = keys;
  through_every_path(p, [](const auto& r) {
    CHECK(row_difference(r.out, 0, 0, std::array{-1.551605, -0.5516046, 0.4483954, -1.5783}) == "");
    CHECK(row_difference(r.out, 0, 1, std::array{-1.843268, -0.843268, 0.156732, -1.584118}) == "");
    CHECK(row_difference(r.out, 0, 2, std::array{0.5423217, -0.4430726, 0.5569274, 1.556927}) ==
          "");
    CHECK(row_difference(r.out, 0, 3, std::array{-0.2313071, -1.046121, -0.0461212, 0.9538788}) ==
          "");
  });
}

TEMPLATE_TEST_CASE("packed query bounds serve the keys too", "", float, double) {
  INFO("seed " << test_seed());
  const Numbers counts{4, 0, 33, 1};
  Packed<TestType> packed(counts, counts, 2, 2, test_seed());
  packed.together.options.k_bounds.reset();
  packed.together.options.causal = true;  // n_q = n_k in every sequence: no position is needed
  check_each_alone(packed, [](auto&, auto) {});
}

TEST_CASE("packed sequences of which none has a token, and no sequences at all") {
  for (const Numbers& bounds : {Numbers{0}, Numbers{0, 0}, Numbers{0, 0, 0}}) {
    Problem<float> p(Shape{0, 0, 4, 3});
    p.options.q_bounds = bounds;
    for_every_path([&](const auto&, int threads) { CHECK_NOTHROW(p.run_on_threads(threads)); });
  }
}
