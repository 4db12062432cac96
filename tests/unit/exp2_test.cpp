// The exponential, the logarithm and the running softmax of the kernels, on the instruction set
// that every machine of this kind has.
#include "kernels/softmax_state.hpp"

#include <cmath>
#include <limits>

#include "catch.hpp"

namespace kernels = lookback::kernels;

namespace {

#if defined(__aarch64__)
using Arch = xsimd::neon64;
#else
using Arch = xsimd::sse2;
#endif

template <class T>
T exp2_of(T x) {
  T lanes[kernels::kLanes<T, Arch>];
  kernels::store<T, Arch>(lanes, kernels::exp2_nonpositive<T, Arch>(kernels::Vec<T, Arch>(x)));
  return lanes[0];
}

template <class T>
using State = kernels::SoftmaxState<T, Arch>;

template <class T>
T first(const kernels::Vec<T, Arch>& x) {
  T lanes[kernels::kLanes<T, Arch>];
  kernels::store<T, Arch>(lanes, x);
  return lanes[0];
}

template <class T>
State<T> state_of(T max, T sum) {
  return {kernels::Vec<T, Arch>(max), kernels::Vec<T, Arch>(sum)};
}

}  // namespace

TEMPLATE_TEST_CASE("exp2: within 1.5 units in the last place over its whole range", "", float,
                   double) {
  const long double limit = std::numeric_limits<TestType>::min_exponent - 1;
  long double worst = 0;
  for (int step = 0; step < 400000; ++step) {
    const auto x = static_cast<TestType>(limit * step / 400000);
    const long double exact = std::exp2(static_cast<long double>(x));
    const long double unit =
        std::numeric_limits<TestType>::epsilon() * std::exp2(std::floor(std::log2(exact)));
    worst = std::fmax(worst, std::fabs(exp2_of(x) - exact) / unit);
  }
  INFO("worst " << static_cast<double>(worst));
  CHECK(worst < 1.5L);
}

TEMPLATE_TEST_CASE("exp2: exact at whole numbers, 0 below the smallest normal, NaN for NaN", "",
                   float, double) {
  constexpr int kLowest = std::numeric_limits<TestType>::min_exponent - 1;
  for (int n = 0; n >= kLowest; --n)
    CHECK(exp2_of<TestType>(TestType(n)) == std::ldexp(TestType(1), n));
  const auto below = std::nextafter(TestType(kLowest), TestType(-1e9));
  for (const TestType x :
       {below, TestType(kLowest - 1), TestType(kLowest - 1.5), TestType(-1e4),
        std::numeric_limits<TestType>::lowest(), -std::numeric_limits<TestType>::infinity()}) {
    INFO("x " << x);
    CHECK(exp2_of(x) == 0);
  }
  CHECK(std::isnan(exp2_of(std::numeric_limits<TestType>::quiet_NaN())));
}

TEST_CASE("natural logarithm: within 2 units in the last place from 1 up") {
  double worst = 0;
  for (double x = 1; x < 1e300; x *= 1.0009) {
    const long double exact = std::log(static_cast<long double>(x));
    const double unit = std::nextafter(double(exact), INFINITY) - double(exact);
    worst = std::fmax(worst, double(std::fabs(kernels::natural_log(x) - exact)) / unit);
  }
  INFO("worst " << worst);
  CHECK(worst < 2);
  CHECK(kernels::natural_log(1) == 0);
  CHECK(std::isnan(kernels::natural_log(std::numeric_limits<double>::quiet_NaN())));
  CHECK(kernels::natural_log(INFINITY) == INFINITY);
}

TEMPLATE_TEST_CASE("softmax state: empty is neutral, and two empty ones stay empty", "", float,
                   double) {
  using V = kernels::Vec<TestType, Arch>;
  const V rate(TestType(1));
  V mine, theirs;
  auto both = State<TestType>::empty();
  both.fold(State<TestType>::empty(), rate, mine, theirs);
  CHECK(first<TestType>(both.max) == -INFINITY);
  CHECK(first<TestType>(both.sum) == 0);
  CHECK(kernels::inverse_of(first<TestType>(both.sum)) == 0);

  auto left = state_of<TestType>(-300, 1.75);
  left.fold(State<TestType>::empty(), rate, mine, theirs);
  CHECK(first<TestType>(left.max) == -300);
  CHECK(first<TestType>(left.sum) == TestType(1.75));
  CHECK(first<TestType>(mine) == 1);
  auto right = State<TestType>::empty();
  right.fold(state_of<TestType>(-300, 1.75), rate, mine, theirs);
  CHECK(first<TestType>(right.max) == -300);
  CHECK(first<TestType>(right.sum) == TestType(1.75));
  CHECK(first<TestType>(theirs) == 1);
}

TEMPLATE_TEST_CASE("softmax state: folding scales both sides to the larger maximum", "", float,
                   double) {
  using V = kernels::Vec<TestType, Arch>;
  V mine, theirs;
  auto state = state_of<TestType>(2, 1.5);
  state.fold(state_of<TestType>(5, 1.25), V(TestType(1)), mine, theirs);
  CHECK(first<TestType>(state.max) == 5);
  CHECK(first<TestType>(mine) == TestType(0.125));
  CHECK(first<TestType>(theirs) == 1);
  CHECK(first<TestType>(state.sum) == TestType(1.5 * 0.125 + 1.25));
}

TEMPLATE_TEST_CASE("softmax state: NaN stays, and is not taken for empty", "", float, double) {
  using V = kernels::Vec<TestType, Arch>;
  const auto nan = std::numeric_limits<TestType>::quiet_NaN();
  V mine, theirs;
  for (const TestType max : {TestType(-INFINITY), TestType(3)}) {
    auto state = state_of<TestType>(max, nan);
    state.fold(state_of<TestType>(7, 2), V(TestType(1)), mine, theirs);
    CHECK(std::isnan(first<TestType>(state.sum)));
    auto later = state_of<TestType>(7, 2);
    later.fold(state_of<TestType>(max, nan), V(TestType(1)), mine, theirs);
    CHECK(std::isnan(first<TestType>(later.sum)));
    CHECK(std::isnan(kernels::inverse_of(first<TestType>(later.sum))));
  }
}
