// The inputs of the case list: values that are exact in every type, from the flat index.
#pragma once

#include <array>
#include <cstddef>

#include "support/problem.hpp"

namespace lookback::test {

inline double query_fill(std::int64_t i) {
  return static_cast<double>(i % 7 - 3) / 4;
}
inline double key_fill(std::int64_t i) {
  return static_cast<double>(i % 5 - 2) / 4;
}
inline double value_fill(std::int64_t i) {
  return static_cast<double>(i % 11 - 5);
}

template <class T>
Problem<T> filled_problem(const Shape& shape) {
  Problem<T> problem(shape);
  std::int64_t next = 0;
  problem.q.fill([&] { return query_fill(next++); });
  next = 0;
  problem.k.fill([&] { return key_fill(next++); });
  next = 0;
  problem.v.fill([&] { return value_fill(next++); });
  return problem;
}

/// The numbers of the case list carry seven digits.
template <std::size_t n, class T>
std::string row_difference(const Array<T>& out, std::int64_t h, std::int64_t i,
                           const std::array<double, n>& expected) {
  Difference found;
  for (std::size_t c = 0; c < n; ++c) {
    const Real actual = out.at(0, h, i, static_cast<std::int64_t>(c)), e = expected[c];
    found.expect(close(actual, e, 2e-6L * (1 + std::fabs(e))), actual, e, h, i, c);
  }
  return found.text();
}

/// On every target and with one and two threads: check(result).
template <class T, class F>
void on_every_path(const Problem<T>& problem, F check) {
  on_every_target([&] {
    for (const int threads : {1, 2}) {
      INFO("threads " << threads);
      check(problem.run_on_threads(threads));
    }
  });
}

}  // namespace lookback::test
