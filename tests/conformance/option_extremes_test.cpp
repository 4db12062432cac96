// Options at the ends of their ranges, and answers that are fixed there.
#include <cmath>
#include <limits>

#include "catch.hpp"
#include "support/any_reference.hpp"
#include "support/paths.hpp"
#include "support/random.hpp"

using namespace lookback::test;
using lookback::Type;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr Type kTypes[] = {Type::float32, Type::float64, Type::bfloat16, Type::float16};

AnyProblem normal_problem(Type type, std::int64_t n_q, std::int64_t n_k) {
  AnyProblem p(type, 2, 4, 2, n_q, n_k, 9, 5);
  Random random(test_seed());
  for (AnyArray* array : {&p.q, &p.k, &p.v}) array->fill([&] { return random.normal(); });
  return p;
}

/// All scores 0 (before terms), values 1, 2, 3, ... of one head.
AnyProblem flat_problem(Type type, std::int64_t n_q, std::int64_t n_k) {
  AnyProblem p(type, 1, 1, 1, n_q, n_k, 1, 1);
  for (AnyArray* array : {&p.q, &p.k}) array->fill([] { return 0.0; });
  double next = 0;
  p.v.fill([&] { return ++next; });
  return p;
}

template <class Check>
void on_all_paths(Check check) {
  on_every_target([&] {
    for (const auto path : kPaths) {
      const PathScope scope(path);
      INFO("path " << name_of(path));
      check();
    }
  });
}

void check_against_formula(const AnyProblem& p) {
  const AnyExpected expected(p);
  on_all_paths([&] { CHECK(expected.difference_from(p.run()) == ""); });
}

void check_same(const AnyProblem& p, const AnyProblem& other) {
  on_all_paths([&] { CHECK(bit_difference(p.run(), other.run()) == ""); });
}

}  // namespace

TEST_CASE("extremes: a softcap from the smallest to the largest double") {
  for (const Type type : kTypes)
    for (const double cap : {5e-324, 1e-300, 1e-45, 1e-39, 1e-30, 1e-3, 1e3, 1e30, 1e37, 1e38, 1e39,
                             1e45, 1e300, 1.7e308}) {
      AnyProblem p = normal_problem(type, 5, 150);
      p.softcap = cap;
      INFO(name_of(type) << ", softcap " << cap);
      check_against_formula(p);
    }
}

TEST_CASE("extremes: sinks at any temperature, with keys and without") {
  for (const Type type : kTypes)
    for (const double sink : {-1e4, -100.0, 0.0, 100.0, 1e4})
      for (const double temperature : {0.1, 1.0, 10.0, 1e30})
        for (const std::int64_t n_k : {0, 3}) {
          AnyProblem p = normal_problem(type, 5, n_k);
          p.sinks = std::vector{sink, 0.5, -kInf, sink};
          p.temperature = temperature;
          INFO(name_of(type) << ", sink " << sink << ", temperature " << temperature << ", n_k "
                             << n_k);
          check_against_formula(p);
        }
}

TEST_CASE(
    "extremes: sinks as large as the type takes all the weight, or none, at any temperature") {
  for (const Type type : kTypes)
    for (const double sink : {1e30, double(std::numeric_limits<float>::max())})
      for (const double temperature : {1e-20, 0.1, 1.0, 10.0, 1e30})
        for (const std::int64_t n_k : {0, 3}) {
          AnyProblem p = normal_problem(type, 5, n_k);
          p.temperature = temperature;
          AnyProblem plain = p;
          p.sinks = std::vector{sink, sink, -sink, -sink};
          INFO(name_of(type) << ", sink " << sink << ", temperature " << temperature << ", n_k "
                             << n_k);
          on_all_paths([&] {
            const Results found = p.run();
            Results expected = plain.run();
            expected.lse.for_each_place([&](auto b, auto h, auto i, auto) {
              if (h >= 2 && n_k > 0) return;
              for (std::int64_t c = 0; c < 5; ++c) expected.out.set(b, h, i, c, 0);
              expected.lse.set(b, h, i, 0, (*p.sinks)[std::size_t(h)]);
            });
            CHECK(bit_difference(found, expected) == "");
          });
        }
}

TEST_CASE("B27 extremes: weights that a sink makes subnormal are exactly 0") {
  for (const Type type : {Type::float32, Type::float64}) {
    const double smallest = type == Type::float64 ? std::log(std::numeric_limits<double>::min())
                                                  : std::log(std::numeric_limits<float>::min());
    AnyProblem p = flat_problem(type, 3, 4);
    p.scale = 1;
    for (const double beyond : {0.01, 1.0, 10.0, 100.0}) {
      p.sinks = std::vector{beyond - smallest};
      INFO(name_of(type) << ", sink " << p.sinks->front());
      on_all_paths([&] {
        const Results r = p.run();
        for (std::int64_t i = 0; i < 3; ++i) {
          CHECK(r.out.get(0, 0, i, 0) == 0);
          CHECK(close(r.lse.get(0, 0, i, 0), p.sinks->front(), 1e-4L));
        }
      });
    }
    p.sinks = std::vector{-0.01 - smallest};  // just a normal number
    on_all_paths([&] { CHECK(p.run().out.get(0, 0, 0, 0) > 0); });
  }
}

TEST_CASE("extremes: positions, windows, prefixes and blocks do not overflow") {
  for (const Type type : {Type::float32, Type::bfloat16}) {
    const AnyProblem plain = normal_problem(type, 5, 150);
    AnyProblem nothing = plain;
    nothing.mask = AnyArray(Type::boolean, {1, 1, 1, 1});
    nothing.mask->fill([] { return 0; });
    for (const std::int64_t far : {INT64_MAX, INT64_MAX / 2}) {
      INFO("far " << far);
      AnyProblem causal = plain, window = plain, wide = plain, blocks = plain;
      causal.causal = true;
      causal.anchor = lookback::Position::Anchor::per_sequence;
      causal.offsets = {far, far};
      check_same(causal, plain);
      causal.offsets = {-far, INT64_MIN};
      check_same(causal, nothing);
      causal.prefix = far;
      check_same(causal, plain);
      window.anchor = lookback::Position::Anchor::top_left;
      window.window = lookback::Window{far, far};
      check_same(window, plain);
      wide.anchor = lookback::Position::Anchor::offset;
      wide.one_offset = far;
      wide.window = lookback::Window{0, {}};
      check_same(wide, nothing);
      wide.one_offset = INT64_MIN;
      check_same(wide, plain);
      blocks.block_rows = blocks.block_keys = far;
      blocks.blocks = AnyArray(Type::boolean, {1, 1, 1, 1});
      blocks.blocks->fill([] { return 1; });
      check_same(blocks, plain);
    }
  }
}

TEST_CASE("extremes: no keys and no rows with every array, also where data is null") {
  const std::int64_t sizes[][2] = {{0, 5}, {5, 0}, {0, 0}};
  for (const Type type : kTypes)
    for (const auto& [n_q, n_k] : sizes) {
      AnyProblem p = normal_problem(type, n_q, n_k);
      p.sinks = std::vector{1.0, -kInf, 2.0, 3.0};
      p.alibi = std::vector<double>(8, 0.5);
      p.causal = true;
      p.anchor = lookback::Position::Anchor::bottom_right;
      p.lengths = {0, n_k};
      p.query_documents = std::vector<std::int64_t>(std::size_t(n_q));
      p.key_documents = std::vector<std::int64_t>(std::size_t(n_k));
      p.bias = AnyArray(p.compute_type(), {2, 4, n_q, n_k});
      p.mask = AnyArray(Type::boolean, {2, 4, n_q, n_k});
      p.block_rows = p.block_keys = 2;
      p.blocks = AnyArray(Type::boolean, {2, 4, (n_q + 1) / 2, (n_k + 1) / 2});
      p.hook = TestHook{TestHook::Kind::halve};
      lookback::Options options = p.options();
      options.bias->data = options.mask->data = options.blocks->visible.data = nullptr;
      on_all_paths([&] {
        const Results r = p.run_with(options);
        for (std::int64_t i = 0; i < n_q; ++i) {
          CHECK(r.lse.get(1, 0, i, 0) == 1);
          CHECK(r.lse.get(1, 1, i, 0) == -kInf);
          CHECK(r.out.get(1, 2, i, 4) == 0);
        }
      });
    }
}

TEST_CASE("extremes: a finite huge negative bias is a score like others") {
  for (const Type type : kTypes)
    for (const Type bias : {Type::float32, Type::bfloat16}) {
      AnyProblem p = normal_problem(type, 3, 64);
      const double lowest = bias == Type::bfloat16 ? -0x1.fep127 : -0x1.fffffep127;
      p.bias = AnyArray(bias, {1, 1, 1, 1});
      p.bias->fill([&] { return lowest; });
      if (type == Type::float64) p.q.fill([] { return 0.0; });  // where a score would still show
      const AnyProblem flat = flat_problem(type, 3, 64);
      p.v = AnyArray(type, {2, 2, 64, 5}, {0, 0, 1, 0});
      double next = 0;
      for (std::int64_t j = 0; j < 64; ++j) p.v.set(0, 0, j, 0, ++next);
      INFO(name_of(type) << ", bias " << name_of(bias));
      on_all_paths([&] {
        const Results r = p.run();
        CHECK(r.out.get(1, 3, 2, 4) == 32.5);
        CHECK(close(r.lse.get(1, 3, 2, 0), lowest, std::fabs(Real(lowest)) * 0x1p-23L));
      });
    }
}

TEST_CASE("extremes: a bias of NaN or +inf makes the rows that see it NaN, and only those") {
  for (const Type type : kTypes)
    for (const double spoiler : {kNaN, kInf}) {
      AnyProblem p = normal_problem(type, 20, 150);
      p.bias = AnyArray(p.compute_type(), {1, 1, 20, 150});
      p.bias->fill([] { return 0.0; });
      p.mask = AnyArray(Type::boolean, {1, 1, 20, 150});
      p.mask->fill([] { return 1.0; });
      const AnyProblem right = p;
      p.bias->set(0, 0, 7, 100, spoiler);
      p.bias->set(0, 0, 9, 100, spoiler);
      p.mask->set(0, 0, 9, 100, 0);
      AnyProblem hidden = right;
      hidden.mask->set(0, 0, 9, 100, 0);
      on_all_paths([&] {
        Results expected = hidden.run();
        for (std::int64_t b = 0; b < 2; ++b)
          for (std::int64_t h = 0; h < 4; ++h) {
            expected.lse.set(b, h, 7, 0, kNaN);
            for (std::int64_t c = 0; c < 5; ++c) expected.out.set(b, h, 7, c, kNaN);
          }
        CHECK(bit_difference(p.run(), expected) == "");
      });
    }
}

TEST_CASE("extremes: slopes whose term leaves the type's range hide all but the row's own key") {
  AnyProblem p = normal_problem(Type::float32, 6, 6);
  p.alibi = std::vector<double>(4, std::numeric_limits<float>::max());
  AnyProblem diagonal = normal_problem(Type::float32, 6, 6);
  diagonal.window = lookback::Window{1, 1};
  diagonal.alibi = p.alibi;
  // A distance of 1 stays finite, and its weight is 0; all others are -inf.
  on_all_paths([&] {
    const Results found = p.run();
    for (std::int64_t i = 0; i < 6; ++i) CHECK(found.out.get(0, 1, i, 2) == p.v.get(0, 0, i, 2));
    CHECK(bit_difference(found, diagonal.run()) == "");
  });
}
