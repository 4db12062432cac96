// CASES.md: terms that are added to the scores, and sinks.
#include <cmath>

#include "catch.hpp"
#include "lookback/hooks.hpp"
#include "support/cases.hpp"
#include "support/every_path.hpp"
#include "support/options_reference.hpp"

using namespace lookback::test;
using lookback::Position;
using lookback::Type;

namespace {

constexpr double kInf = INFINITY;

/// One query of one feature that is 0: the scores are the bias.
template <class T, class Value>
Problem<T> equal_scores(std::int64_t n_q, std::int64_t n_k, Value value) {
  Problem<T> p(Shape{n_q, n_k, 1, 1});
  p.options.scale = 1;
  p.q.fill_value(0);
  p.k.fill_value(1);
  for (std::int64_t j = 0; j < n_k; ++j) p.v.at(0, 0, j, 0) = T(value(j));
  return p;
}

template <class F>
StoredArray row_bias(Type type, std::int64_t n_k, F value) {
  StoredArray bias(type, {1, 1, 1, n_k});
  bias.fill([&](auto, auto, auto, auto j) { return value(j); });
  return bias;
}

}  // namespace

TEMPLATE_TEST_CASE("B05 a bias of finite huge negatives is ordinary numbers", "", float, double) {
  // Every key gets the lowest number: equal scores, so the context is the mean.
  for (const Type type : {Type::float32, Type::bfloat16, Type::float16})
    for (const std::int64_t n_q : {1, 40})
      for (const double temperature : {1.0, 1e-30, 1e30}) {
        const Real lowest = type == Type::float16 ? -65504 : -3.3895e38L;
        auto p = equal_scores<TestType>(n_q, 64, [](auto j) { return double(j); });
        p.options.temperature = temperature;
        const StoredArray bias = row_bias(type, 64, [&](auto) { return lowest; });
        p.options.bias = bias.view();
        INFO(name_of(type) << ", n_q " << n_q << ", temperature " << temperature);
        through_every_path(p, [&](const auto& r) {
          CHECK(r.out.at(0, 0, n_q - 1, 0) == TestType(31.5));
          CHECK(std::isfinite(r.lse.at(0, 0, n_q - 1, 0)));
        });
      }
}

TEMPLATE_TEST_CASE("B15 keys that the bias puts far below weigh exactly 0", "", float, double) {
  for (const Type type : {Type::float32, Type::bfloat16, Type::float16})
    for (const std::int64_t n_q : {1, 33}) {
      auto p = equal_scores<TestType>(n_q, 256, [](auto j) { return j % 2 == 0 ? 1 : 1e38; });
      const StoredArray bias = row_bias(type, 256, [](auto j) { return j % 2 == 0 ? 0 : -1000; });
      p.options.bias = bias.view();
      INFO(name_of(type) << ", n_q " << n_q);
      through_every_path(p, [&](const auto& r) {
        CHECK(r.out.at(0, 0, n_q - 1, 0) == 1);
        CHECK(near(r.lse.at(0, 0, n_q - 1, 0), 4.852030L));
      });
    }
}

TEMPLATE_TEST_CASE("B15 a bias that would make a weight subnormal makes it exactly 0", "", float,
                   double) {
  // exp(-87.5) is below 2^-126, exp(-87) is not; in float64 it is exp(-708.5) and exp(-708).
  const bool is_float = sizeof(TestType) == sizeof(float);
  const double far = is_float ? 87 : 708, value = is_float ? 0x1p120 : 0x1p1000;
  for (const std::int64_t n_q : {1, 33})
    for (const double further : {0.0, 0.5}) {
      auto p = equal_scores<TestType>(n_q, 9, [&](auto j) { return j == 4 ? value : 0; });
      const StoredArray bias =
          row_bias(Type::float32, 9, [&](auto j) { return j == 4 ? -far - further : 0; });
      p.options.bias = bias.view();
      INFO("n_q " << n_q << ", bias " << -far - further);
      through_every_path(
          p, [&](const auto& r) { CHECK((r.out.at(0, 0, n_q - 1, 0) == 0) == (further > 0)); });
    }
}

TEMPLATE_TEST_CASE("B13 NaN and infinities in a bias, whichever key and lane", "", float, double) {
  const std::int64_t n_k = 150;
  for (const std::int64_t n_q : {1, 3, 20})
    for (const std::int64_t at : {0, 1, 7, 8, 15, 16, 31, 64, 127, 128, 149}) {
      auto p = equal_scores<TestType>(n_q, n_k, [](auto) { return 1; });
      StoredArray bias(Type::float32, {1, 1, n_q, n_k});
      for (const Real poison : {Real(NAN), Real(kInf)}) {
        bias.fill([&](auto, auto, auto i, auto j) { return i == n_q - 1 && j == at ? poison : 0; });
        p.options.bias = bias.view();
        INFO("n_q " << n_q << ", key " << at << ", bias " << double(poison));
        through_paths_in_place(p, [&](const auto& r) {
          for (std::int64_t i = 0; i < n_q; ++i) {
            CHECK(std::isnan(r.out.at(0, 0, i, 0)) == (i == n_q - 1));
            CHECK(std::isnan(r.lse.at(0, 0, i, 0)) == (i == n_q - 1));
          }
        });
      }
    }
}

TEMPLATE_TEST_CASE("B11 a bias of -inf hides a key whose score is NaN", "", float, double) {
  auto p = equal_scores<TestType>(5, 40, [](auto j) { return double(j); });
  p.k.at(0, 0, 20, 0) = TestType(NAN);
  p.k.at(0, 0, 21, 0) = p.v.at(0, 0, 21, 0) = TestType(kInf);
  const StoredArray bias =
      row_bias(Type::float16, 40, [](auto j) { return j == 20 || j == 21 ? -kInf : 0; });
  p.options.bias = bias.view();
  through_every_path(p, [](const auto& r) {
    CHECK(near(r.out.at(0, 0, 3, 0), (780.0L - 41) / 38));
    CHECK(near(r.lse.at(0, 0, 3, 0), std::log(38.0L)));
  });
}

TEMPLATE_TEST_CASE("B27 a sink takes part in the maximum", "", float, double) {
  const double sink = GENERATE(1.0, 100.0, -100.0);
  auto p = equal_scores<TestType>(1, 4, [](auto j) { return double(j + 1); });
  const double sinks[] = {sink};
  p.options.sinks = sinks;
  INFO("sink " << sink);
  through_every_path(p, [&](const auto& r) {
    const Real out = r.out.at(0, 0, 0, 0), lse = r.lse.at(0, 0, 0, 0);
    CHECK(near(lse, sink == 1 ? 1.9048324L : sink == 100 ? 100 : 1.3862944L));
    if (sink == 1) CHECK(near(out, 1.488476L));
    if (sink == -100) CHECK(near(out, 2.5L));
    // exp(-100) is subnormal in float32, and so exactly 0.
    if (sink == 100) CHECK((sizeof(TestType) == 4 ? out == 0 : close(out, 3.72e-43L, 1e-45L)));
  });
}

TEMPLATE_TEST_CASE("B27 a sink beside no key: 0 and the sink itself", "", float, double) {
  const std::int64_t n_q = GENERATE(1, 3, 33);
  const double sinks[] = {0.5, -3e38, -kInf};
  const Shape shape{.n_q = n_q, .n_k = 0, .d = 1, .d_v = 2, .B = 1, .H = 3, .H_kv = 3};
  Shape some = shape;
  some.n_k = 600;
  for (const double temperature : {1.0, 0.25}) {
    auto none = random_problem<TestType>(shape, 1), hidden = random_problem<TestType>(some, 1);
    const StoredArray mask = boolean_array({1, 1, 1, 600}, [](auto...) { return false; });
    hidden.options.mask = mask.view();
    for (auto* p : {&none, &hidden}) {
      p->options.sinks = sinks;
      p->options.temperature = temperature;
      through_paths_in_place(*p, [&](const auto& r) {
        for (std::int64_t h = 0; h < 3; ++h) {
          CHECK(r.lse.at(0, h, n_q - 1, 0) == TestType(sinks[h]));
          CHECK(r.out.at(0, h, n_q - 1, 1) == 0);
        }
      });
    }
  }
}

TEMPLATE_TEST_CASE("B27 sinks per head and per sequence and head, at any temperature", "", float,
                   double) {
  INFO("seed " << test_seed());
  const std::int64_t n_q = GENERATE(1, 20), n_k = GENERATE(3, 530);
  const Shape shape{.n_q = n_q, .n_k = n_k, .d = 4, .d_v = 3, .B = 2, .H = 3, .H_kv = 1};
  auto p = random_problem<TestType>(shape, test_seed());
  const std::vector<double> per_head{0.5, -kInf, 4}, per_sequence{-2, 0, 3, 80, -80, -kInf};
  for (const auto* sinks : {&per_head, &per_sequence})
    for (const double temperature : {1.0, 0.3, 7.0}) {
      p.options.sinks = *sinks;
      p.options.temperature = temperature;
      INFO("n_q " << n_q << ", n_k " << n_k << ", temperature " << temperature);
      check_every_path_against_reference(p);
    }
}

TEMPLATE_TEST_CASE("B27 a sink of -inf is no sink, to the bit", "", float, double) {
  auto p = random_problem<TestType>(Shape{20, 600, 4, 3}, test_seed());
  const double none[] = {-kInf};
  auto with = p;
  with.options.sinks = none;
  for_every_path([&](const auto&, int threads) {
    CHECK(bit_difference(with.run_on_threads(threads), p.run_on_threads(threads)) == "");
  });
}

TEMPLATE_TEST_CASE("B29 ALiBi counts from where causal counts", "", float, double) {
  auto p = filled_problem<TestType>(Shape{2, 5, 4, 4});
  const double slopes[] = {0.5};
  p.options.scale = 0.5;
  p.options.alibi = slopes;
  p.options.causal = true;
  for (const auto position : {Position::bottom_right(), Position::at(3)}) {
    p.options.position = position;
    through_every_path(p, [](const auto& r) {
      CHECK(row_difference(r.out, 0, 0, std::array{-1.840527, -0.8405275, 0.1594725, -1.631981}) ==
            "");
      CHECK(row_difference(r.out, 0, 1, std::array{-1.320041, -0.320041, 0.679959, -0.0341145}) ==
            "");
      CHECK(near(r.lse.at(0, 0, 0, 0), 0.7150828L));
      CHECK(near(r.lse.at(0, 0, 1, 0), 0.9215226L));
    });
  }
  p.options.causal = false;
  through_every_path(p, [](const auto& r) {
    CHECK(row_difference(r.out, 0, 0, std::array{-1.398768, -0.3987684, 0.6012316, -0.520224}) ==
          "");
  });
  p.options.position = Position::top_left();
  through_every_path(p, [](const auto& r) {
    CHECK(row_difference(r.out, 0, 0, std::array{-2.710804, -1.710804, -0.7108045, -1.080243}) ==
          "");
  });
}

TEMPLATE_TEST_CASE("B29 the column-only form is the same context and a moved lse", "", float,
                   double) {
  auto p = filled_problem<TestType>(Shape{2, 5, 4, 4});
  p.options = causal_at(Position::bottom_right());
  p.options.scale = 0.5;
  const StoredArray bias = row_bias(Type::float16, 5, [](auto j) { return 0.5 * double(j); });
  p.options.bias = bias.view();
  through_every_path(p, [](const auto& r) {
    CHECK(row_difference(r.out, 0, 0, std::array{-1.840527, -0.8405275, 0.1594725, -1.631981}) ==
          "");
    CHECK(near(r.lse.at(0, 0, 0, 0), 2.2150828L));
    CHECK(near(r.lse.at(0, 0, 1, 0), 2.9215226L));
  });
}

TEMPLATE_TEST_CASE("B29 slopes of any number of heads, of either sign, per sequence too", "", float,
                   double) {
  INFO("seed " << test_seed());
  const std::int64_t n_q = GENERATE(1, 40), heads = GENERATE(3, 5);
  const Shape shape{.n_q = n_q, .n_k = 545, .d = 4, .d_v = 3, .B = 2, .H = heads, .H_kv = 1};
  auto p = random_problem<TestType>(shape, test_seed());
  std::vector<double> slopes;
  for (std::int64_t i = 0; i < 2 * heads; ++i)
    slopes.push_back(double(i % 3 - 1) * std::exp2(-8.0 * double(i + 1) / double(heads)) +
                     (i == heads ? 300 : 0));
  const std::span<const double> all(slopes);
  const std::int64_t offsets[] = {3, -9};
  for (const bool per_sequence : {false, true}) {
    p.options.alibi = per_sequence ? all : all.first(static_cast<std::size_t>(heads));
    for (const auto position : {Position::bottom_right(), Position::at(-600), Position::at(2000),
                                Position::per_sequence(offsets)}) {
      p.options.position = position;
      INFO("n_q " << n_q << ", heads " << heads << ", per sequence " << per_sequence);
      const OptionsExpected<TestType> expected(p);
      through_paths_in_place(p, [&](const auto& r) { CHECK(expected.difference_from(r) == ""); });
    }
  }
}

TEMPLATE_TEST_CASE("B31 the bias is added after the scale", "", float, double) {
  for (const Type type : {Type::float32, Type::float16, Type::bfloat16}) {
    Problem<TestType> p(Shape{1, 4, 1, 1});
    const double keys[] = {2, 4, 0, 8}, values[] = {1, 2, 4, 1000}, biases[] = {-1, 0, 2, -kInf};
    p.options.scale = 0.5;
    p.q.fill_value(1);
    for (std::int64_t j = 0; j < 4; ++j) {
      p.k.at(0, 0, j, 0) = TestType(keys[j]);
      p.v.at(0, 0, j, 0) = TestType(values[j]);
    }
    const StoredArray bias = row_bias(type, 4, [&](auto j) { return biases[j]; });
    p.options.bias = bias.view();
    through_every_path(p, [](const auto& r) {
      CHECK(near(r.out.at(0, 0, 0, 0), 2.873242L));
      CHECK(near(r.lse.at(0, 0, 0, 0), 2.7586237L));
    });
  }
}

TEMPLATE_TEST_CASE("B31 all terms together, in their order, at any scale and temperature", "",
                   float, double) {
  INFO("seed " << test_seed());
  const std::int64_t n_q = GENERATE(1, 21), n_k = 140;
  const Shape shape{.n_q = n_q, .n_k = n_k, .d = 6, .d_v = 3, .B = 2, .H = 2, .H_kv = 1};
  auto p = random_problem<TestType>(shape, test_seed());
  StoredArray bias(Type::float32, {2, 1, n_q, n_k});
  bias.fill([](auto b, auto, auto i, auto j) { return double((b + i * 5 + j * 3) % 9) / 4 - 1; });
  const std::vector<double> slopes{0.125, -0.03}, sinks{1.5, -2};
  lookback::AddConstant constant{0.75F};
  p.options.softcap = 1.5;
  p.options.alibi = slopes;
  p.options.position = Position::at(60);
  p.options.bias = bias.view();
  p.options.hook = lookback::ScoreHook{lookback::AddConstant::hook, &constant};
  p.options.sinks = sinks;
  for (const double scale : {1.0, -0.7, 3.0, 0.0})
    for (const double temperature : {1.0, 0.4, 5.0}) {
      p.options.scale = scale;
      p.options.temperature = temperature;
      INFO("n_q " << n_q << ", scale " << scale << ", temperature " << temperature);
      check_every_path_against_reference(p);
    }
}
