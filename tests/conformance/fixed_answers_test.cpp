// Answers that are fixed where others differ: zero sizes, no features, the lse at the ends of its
// type. NaN, infinities and empty rows have their cases beside this file.
#include <cmath>
#include <limits>

#include "catch.hpp"
#include "support/cases.hpp"

using namespace lookback::test;
using lookback::Error;
using lookback::Extents;

namespace {

template <class T>
T lse_of_one_key(double score, double temperature) {
  Problem<T> p(Shape{1, 1, 1, 1});
  p.options.scale = 1;
  p.options.temperature = temperature;
  p.q.fill_value(1);
  p.k.fill_value(T(score));
  p.v.fill_value(5);
  const auto r = p.run();
  CHECK(r.out.at(0, 0, 0, 0) == 5);
  return r.lse.at(0, 0, 0, 0);
}

}  // namespace

TEMPLATE_TEST_CASE("B35 every combination of the sizes 0, 1, 2, 3 and 17", "", float, double) {
  INFO("seed " << test_seed());
  const std::int64_t sizes[] = {0, 1, 2, 3, 17};
  for (const auto B : {0, 2})
    for (const auto H_kv : {0, 1, 2})
      for (const auto group : {0, 1, 3})
        for (const auto n_q : sizes)
          for (const auto n_k : sizes)
            for (const auto d : sizes)
              for (const auto d_v : {0, 1, 17}) {
                const Shape shape{.n_q = n_q,
                                  .n_k = n_k,
                                  .d = d,
                                  .d_v = d_v,
                                  .B = B,
                                  .H = H_kv * group,
                                  .H_kv = H_kv};
                auto p = random_problem<TestType>(shape, test_seed());
                if (d == 0) p.options.scale = 1;
                INFO(shape);
                const auto result = p.run();
                const std::string found = Expected<TestType>(p).difference_from(result);
                if (!found.empty()) FAIL_CHECK(found);
              }
  SUCCEED();
}

TEST_CASE("B35 no key-value heads for some query heads is an error, not a crash") {
  for (const std::int64_t H_kv : {0, 3}) {
    const Problem<float> p(
        Shape{.n_q = 2, .n_k = 3, .d = 4, .d_v = 4, .B = 1, .H = 4, .H_kv = H_kv});
    Array<float> out({1, 4, 2, 4});
    CHECK_THROWS_AS(attend(p.q.view(), p.k.view(), p.v.view(), {out.output()}), Error);
  }
}

TEST_CASE("zero sizes: null pointers are fine where there are no elements") {
  const lookback::Tensor none{nullptr, lookback::Type::float32, {1, 1, 0, 4}, {0, 0, 4, 1}};
  lookback::OutputTensor out{nullptr, lookback::Type::float32, {1, 1, 0, 3}, {0, 0, 3, 1}};
  const Array<float> k({1, 1, 5, 4}), v({1, 1, 5, 3});
  CHECK_NOTHROW(attend(none, k.view(), v.view(), {out}));
  const Array<float> q({1, 1, 2, 4});
  lookback::Tensor no_values = none;
  no_values.extent[3] = 3;
  Array<float> result({1, 1, 2, 3});
  CHECK_NOTHROW(attend(q.view(), none, no_values, {result.output()}));
  CHECK(result.at(0, 0, 1, 2) == 0);
}

TEMPLATE_TEST_CASE("d_v = 0 still writes the lse", "", float, double) {
  INFO("seed " << test_seed());
  auto p = random_problem<TestType>(Shape{20, 600, 8, 0}, test_seed());
  auto wide = random_problem<TestType>(Shape{20, 600, 8, 3}, test_seed());
  on_every_target([&] {
    CHECK(bit_difference(p.run().lse, wide.run().lse) == "");
    auto few = p;
    few.q = p.q.rows(3, 1);
    CHECK(bit_difference(few.run().lse, wide.run().lse.rows(3, 1)) == "");
  });
}

TEMPLATE_TEST_CASE("d = 0: all scores are 0, the context is the mean", "", float, double) {
  for (const double scale : {1.0, 0.0, -7.5}) {
    for (const std::int64_t n_q : {1, 40}) {
      Problem<TestType> p(Shape{n_q, 16, 0, 1});
      p.options.scale = scale;
      TestType next = 0;
      p.v.fill([&] { return next++; });
      on_every_path(p, [&](const auto& r) {
        CHECK(r.out.at(0, 0, n_q - 1, 0) == TestType(7.5));
        CHECK(close(r.lse.at(0, 0, n_q - 1, 0), std::log(16.0L),
                    2 * std::numeric_limits<TestType>::epsilon()));
      });
    }
  }
}

TEMPLATE_TEST_CASE("the lse is the lowest number where m / T is too small, never -inf", "", float,
                   double) {
  constexpr TestType kLowest = std::numeric_limits<TestType>::lowest();
  const double low = double(kLowest);
  on_every_target([&] {
    CHECK(lse_of_one_key<TestType>(low, 0.5) == kLowest);
    CHECK(lse_of_one_key<TestType>(low, 1e-300) == kLowest);
    CHECK(lse_of_one_key<TestType>(-1, std::numeric_limits<double>::denorm_min()) == kLowest);
    CHECK(lse_of_one_key<TestType>(low, 1) == kLowest);
    CHECK(lse_of_one_key<TestType>(low / 2, 0.5) == kLowest);
    CHECK(std::isfinite(lse_of_one_key<TestType>(low, 2)));
  });
}

TEMPLATE_TEST_CASE("temperatures from the smallest to the largest double keep the softmax", "",
                   float, double) {
  // One key leads by 1: all the weight at a small T, equal weights at a large one.
  Problem<TestType> p(Shape{1, 4, 1, 1});
  p.options.scale = 1;
  p.q.fill_value(1);
  for (int j = 0; j < 4; ++j) {
    p.k.at(0, 0, j, 0) = TestType(j == 1 ? 0 : -1);
    p.v.at(0, 0, j, 0) = TestType(1 << j);
  }
  on_every_target([&] {
    for (const double T :
         {std::numeric_limits<double>::denorm_min(), 1e-300, 1e-50, 1e-39, 1e-30}) {
      p.options.temperature = T;
      INFO("temperature " << T);
      CHECK(p.run().out.at(0, 0, 0, 0) == 2);
      CHECK(p.run().lse.at(0, 0, 0, 0) == 0);
    }
    for (const double T : {1e30, 1e39, 1e50, 1e300, std::numeric_limits<double>::max()}) {
      p.options.temperature = T;
      INFO("temperature " << T);
      CHECK(p.run().out.at(0, 0, 0, 0) == TestType(3.75));
    }
  });
}

TEMPLATE_TEST_CASE("equal scores weigh the same at any temperature, two rows and many", "", float,
                   double) {
  for (const double T : {1e-300, 1e-30, 1.0, 1e30, 1e300})
    for (const double score : {-3e38, 0.0, 3e38})
      for (const std::int64_t n_q : {2, 33}) {
        Problem<TestType> p(Shape{n_q, 1024, 1, 1});
        p.options.scale = 1;
        p.options.temperature = T;
        p.q.fill_value(1);
        p.k.fill_value(TestType(score));
        TestType next = 0;
        p.v.fill([&] { return next++; });
        INFO("temperature " << T << ", score " << score << ", n_q " << n_q);
        on_every_path(p, [&](const auto& r) {
          CHECK(r.out.at(0, 0, 0, 0) == TestType(511.5));
          CHECK(r.out.at(0, 0, n_q - 1, 0) == TestType(511.5));
        });
      }
}

TEST_CASE("subnormal inputs are numbers like others") {
  // A score of 2^-140 * 2^127: flushing q to zero would make both keys equal.
  Problem<float> p(Shape{1, 2, 1, 1});
  p.options.scale = 1;
  p.q.fill_value(0x1p-140f);
  p.k.at(0, 0, 0, 0) = 0;
  p.k.at(0, 0, 1, 0) = 0x1p127f;
  p.v.at(0, 0, 0, 0) = 0;
  p.v.at(0, 0, 1, 0) = 0x1p-130f;
  p.options.temperature = 0x1p-20;
  on_every_path(p, [](const auto& r) { CHECK(r.out.at(0, 0, 0, 0) == 0x1p-130f); });
}
