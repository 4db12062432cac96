// The caller's rounding, flushing and trapping change nothing, and are as they were afterwards.
#include <cmath>
#include <functional>
#include <limits>

#include <tbb/task_arena.h>

#include "catch.hpp"
#include "support/float_environment.hpp"
#include "support/problem.hpp"

using namespace lookback::test;

namespace {

struct Mode {
  const char* name;
  std::function<void()> set;
};

const Mode kModes[] = {
    {"upward", [] { std::fesetround(FE_UPWARD); }},
    {"downward", [] { std::fesetround(FE_DOWNWARD); }},
    {"toward zero", [] { std::fesetround(FE_TOWARDZERO); }},
    {"flush subnormals", flush_subnormals},
    {"flush subnormals, upward",
     [] {
       flush_subnormals();
       std::fesetround(FE_UPWARD);
     }},
#if defined(__x86_64__)
    {"trap on what is not inexact",
     [] { feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW); }},
#endif
};

/// The default scale and the temperature are inexact; rows 0 and 1 see nothing, some weights
/// underflow, and some values are subnormal.
template <class T>
Problem<T> sensitive_problem(std::int64_t n_q) {
  auto p = random_problem<T>(Shape{n_q, 1400, 7, 5}, test_seed());
  p.options = causal_at(lookback::Position::at(n_q == 1 ? 1300 : -2));
  p.options.temperature = 0.3;
  p.v.for_each_place([&](auto b, auto h, auto i, auto c) {
    if (c == 2) p.v.at(b, h, i, c) *= std::numeric_limits<T>::min();
    if (c == 3) p.k.at(b, h, i, c) *= 300;
  });
  return p;
}

}  // namespace

TEMPLATE_TEST_CASE("floating-point modes of the caller do not change the bits and are restored", "",
                   float, double) {
  INFO("seed " << test_seed());
  for (const std::int64_t n_q : {1, 5, 300}) {
    const auto p = sensitive_problem<TestType>(n_q);
    on_every_target([&] {
      for (const int threads : {1, 2}) {
        const auto expected = p.run_on_threads(threads);
        for (const Mode& mode : kModes) {
          INFO("n_q " << n_q << ", threads " << threads << ", mode " << mode.name);
          Result<TestType> result;
          std::uint64_t before = 0, after = 0;
          {
            const FloatEnvironmentScope scope;
            mode.set();
            before = control_word();
            result = p.run_on_threads(threads);
            after = control_word();
          }
          CHECK(after == before);
          CHECK(bit_difference(result, expected) == "");
        }
      }
    });
  }
}

TEST_CASE("floating-point modes are restored when the call ends with an error") {
  auto p = random_problem<float>(Shape{300, 300, 64, 64}, test_seed());
  p.options.progress = [](double) { return false; };
  std::uint64_t before = 0, after = 0;
  bool cancelled = false;
  {
    const FloatEnvironmentScope scope;
    flush_subnormals();
    std::fesetround(FE_DOWNWARD);
    before = control_word();
    try {
      p.run();
    } catch (const lookback::Error&) {
      cancelled = true;
    }
    after = control_word();
  }
  CHECK(cancelled);
  CHECK(after == before);
}

TEST_CASE("floating-point modes of worker threads do not matter either") {
  // An arena passes on the mode that its creator had; the engine may not inherit it.
  INFO("seed " << test_seed());
  const auto p = sensitive_problem<float>(300);
  const auto expected = p.run();
  Result<float> result;
  {
    const FloatEnvironmentScope scope;
    flush_subnormals();
    std::fesetround(FE_UPWARD);
    tbb::task_arena arena(2);
    arena.initialize();
    arena.execute([&] { result = p.run(); });
  }
  CHECK(bit_difference(result, expected) == "");
}
