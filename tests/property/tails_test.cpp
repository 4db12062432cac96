// Every remainder from 1 to 70 of each extent, which covers all lanes and tiles of every target.
#include "catch.hpp"
#include "support/problem.hpp"

using namespace lookback::test;

namespace {

/// The other extents are odd, different from each other and from multiples of any vector.
template <class T>
void check_tails(std::int64_t Shape::*extent) {
  INFO("seed " << test_seed());
  for (std::int64_t n = 1; n <= 70; ++n) {
    Shape shape{.n_q = 5, .n_k = 43, .d = 19, .d_v = 23};
    shape.*extent = n;
    INFO(shape);
    check_against_reference(random_problem<T>(shape, test_seed() + std::uint64_t(n)));
  }
}

}  // namespace

TEMPLATE_TEST_CASE("tails: d from 1 to 70", "", float, double) {
  check_tails<TestType>(&Shape::d);
}

TEMPLATE_TEST_CASE("tails: d_v from 1 to 70", "", float, double) {
  check_tails<TestType>(&Shape::d_v);
}

TEMPLATE_TEST_CASE("tails: n_q from 1 to 70", "", float, double) {
  check_tails<TestType>(&Shape::n_q);
}

TEMPLATE_TEST_CASE("tails: n_k from 1 to 70", "", float, double) {
  check_tails<TestType>(&Shape::n_k);
}

TEMPLATE_TEST_CASE("tails: d_v from 1 to 70 with many query rows", "", float, double) {
  INFO("seed " << test_seed());
  for (std::int64_t n = 1; n <= 70; n += 3) {
    const Shape shape{.n_q = 67, .n_k = 29, .d = 11, .d_v = n};
    INFO(shape);
    check_against_reference(random_problem<TestType>(shape, test_seed() + std::uint64_t(n)));
  }
}
