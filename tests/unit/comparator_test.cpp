// The comparator that every other test trusts.
#include <limits>
#include <vector>

#include "catch.hpp"
#include "support/compare.hpp"

using namespace lookback::test;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::string compare(float actual, float expected, Real tolerance = 1e30L) {
  return difference(std::vector<float>{actual}, std::vector<float>{expected}, tolerance);
}

}  // namespace

TEST_CASE("B07 comparator: NaN against a number is a mismatch both ways") {
  CHECK(compare(kNaN, 0) != "");
  CHECK(compare(0, kNaN) != "");
  CHECK(compare(kNaN, kInf) != "");
  CHECK(compare(kInf, kNaN) != "");
  CHECK(compare(kNaN, kNaN) == "");
}

TEST_CASE("B07 comparator: infinities are compared by sign and never within a tolerance") {
  CHECK(compare(kInf, kInf) == "");
  CHECK(compare(-kInf, -kInf) == "");
  CHECK(compare(kInf, -kInf) != "");
  CHECK(compare(-kInf, kInf) != "");
  CHECK(compare(kInf, 3e38f, kInf) != "");
  CHECK(compare(-3e38f, -kInf, kInf) != "");
}

TEST_CASE("B07 comparator: numbers differ by more than the tolerance or not") {
  CHECK(compare(1.0f, 1.5f, 0.5L) == "");
  CHECK(compare(1.0f, 1.5f, 0.49L) != "");
  CHECK(compare(0.0f, -0.0f, 0) == "");
  CHECK(compare(1.0f, 2.0f, kNaN) != "");
}

TEST_CASE("B07 comparator: lengths and extents count") {
  const std::vector<float> two{1, 2}, three{1, 2, 3};
  CHECK(difference(two, three, 0) != "");
  CHECK(difference(three, two, 0) != "");
  CHECK(difference(two, two, 0) == "");
  CHECK(difference(std::vector<float>{}, two, 0) != "");

  lookback::test::Array<float> a({1, 1, 2, 3}), b({1, 1, 3, 2});
  a.fill_value(1);
  b.fill_value(1);
  CHECK(difference(a, b, 0) != "");
  CHECK(bit_difference(a, b) != "");
}

TEST_CASE("comparator: bits are equal up to which NaN and the sign of zero") {
  CHECK(same_bits(1.0f, 1.0f));
  CHECK_FALSE(same_bits(1.0f, std::nextafter(1.0f, 2.0f)));
  CHECK_FALSE(same_bits(1.0, std::nextafter(1.0, 2.0)));
  CHECK(same_bits(kNaN, -kNaN));
  CHECK(same_bits(0.0f, -0.0f));
  CHECK_FALSE(same_bits(kNaN, 1.0f));
  CHECK_FALSE(same_bits(kInf, -kInf));
  CHECK_FALSE(same_bits(0.0f, std::numeric_limits<float>::denorm_min()));
}

TEST_CASE("comparator: the report counts and names the places") {
  const std::string report =
      difference(std::vector<float>{1, 2, kNaN, 4}, std::vector<float>{1, 5, 3, 4}, 0.25L);
  CHECK(report.find("2 of 4") != std::string::npos);
  CHECK(report.find("[ 1 ] is 2, not 5") != std::string::npos);
  CHECK(report.find("[ 2 ]") != std::string::npos);
}
