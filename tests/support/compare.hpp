// Comparison of results: what counts as a mismatch is decided here, and tested.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "reference/attention.hpp"
#include "support/array.hpp"

namespace lookback::test {

using reference::Real;

/// NaN is close to NaN only, an infinity to itself only.
inline bool close(Real actual, Real expected, Real tolerance) {
  if (std::isnan(actual) || std::isnan(expected)) return std::isnan(actual) && std::isnan(expected);
  if (std::isinf(actual) || std::isinf(expected)) return actual == expected;
  return std::fabs(actual - expected) <= tolerance;
}

/// Which NaN a NaN is, and the sign of a zero, are outside the promise of the same bits.
template <class T>
bool same_bits(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == T(0) && b == T(0)) return true;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

/// Collects mismatches; empty text when there are none. The first few are spelled out.
class Difference {
 public:
  template <class... Where>
  void expect(bool equal, Real actual, Real expected, const Where&... where) {
    ++compared_;
    if (equal || ++mismatches_ > 5) return;
    text_ << " [";
    ((text_ << ' ' << where), ...);
    text_.precision(21);
    text_ << " ] is " << actual << ", not " << expected << ';';
  }
  void note(const std::string& text) { ++mismatches_, text_ << ' ' << text << ';'; }
  std::string text() const {
    if (mismatches_ == 0) return "";
    return std::to_string(mismatches_) + " of " + std::to_string(compared_) +
           " differ:" + text_.str();
  }

 private:
  long compared_ = 0, mismatches_ = 0;
  std::ostringstream text_;
};

template <class A, class B>
std::string difference(const std::vector<A>& actual, const std::vector<B>& expected,
                       Real tolerance) {
  Difference found;
  if (actual.size() != expected.size()) found.note("the lengths");
  for (std::size_t i = 0; i < std::min(actual.size(), expected.size()); ++i)
    found.expect(close(actual[i], expected[i], tolerance), actual[i], expected[i], i);
  return found.text();
}

template <class T, class U>
std::string difference(const Array<T>& actual, const Array<U>& expected, Real tolerance) {
  Difference found;
  if (actual.extent() != expected.extent()) {
    found.note("the extents");
    return found.text();
  }
  actual.for_each_place([&](auto b, auto h, auto i, auto c) {
    const Real a = actual.at(b, h, i, c), e = expected.at(b, h, i, c);
    found.expect(close(a, e, tolerance), a, e, b, h, i, c);
  });
  return found.text();
}

template <class T>
std::string bit_difference(const Array<T>& actual, const Array<T>& expected) {
  Difference found;
  if (actual.extent() != expected.extent()) {
    found.note("the extents");
    return found.text();
  }
  actual.for_each_place([&](auto b, auto h, auto i, auto c) {
    const T a = actual.at(b, h, i, c), e = expected.at(b, h, i, c);
    found.expect(same_bits(a, e), a, e, b, h, i, c);
  });
  return found.text();
}

}  // namespace lookback::test
