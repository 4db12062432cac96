// One attention problem: its arrays and options, how to run it, and what it should give.
#pragma once

#include <cstdint>
#include <limits>
#include <ostream>
#include <string>

#include "catch.hpp"
#include "lookback/lookback.hpp"
#include "reference/attention.hpp"
#include "support/array.hpp"
#include "support/compare.hpp"
#include "support/error_bound.hpp"
#include "support/random.hpp"
#include "support/targets.hpp"

namespace lookback::test {

struct Shape {
  std::int64_t n_q = 1, n_k = 1, d = 1, d_v = 1;
  std::int64_t B = 1, H = 1, H_kv = 1;

  friend std::ostream& operator<<(std::ostream& to, const Shape& s) {
    return to << "B " << s.B << ", H " << s.H << ", H_kv " << s.H_kv << ", n_q " << s.n_q
              << ", n_k " << s.n_k << ", d " << s.d << ", d_v " << s.d_v;
  }
};

inline Options causal_at(Position position) {
  Options options;
  options.causal = true;
  options.position = position;
  return options;
}

template <class T>
struct Result {
  Array<T> out, lse;
};

template <class T>
struct Problem {
  Array<T> q, k, v;
  Options options = {};

  explicit Problem(const Shape& s, Layout layout = Layout::heads_first)
      : q({s.B, s.H, s.n_q, s.d}, layout),
        k({s.B, s.H_kv, s.n_k, s.d}, layout),
        v({s.B, s.H_kv, s.n_k, s.d_v}, layout) {}
  Problem(Array<T> q_, Array<T> k_, Array<T> v_, Options options_ = {})
      : q(std::move(q_)), k(std::move(k_)), v(std::move(v_)), options(std::move(options_)) {}

  /// Everything the engine gives; the outputs start as NaN.
  Result<T> run(Layout layout = Layout::heads_first) const {
    Result<T> result{Array<T>({q.extent(0), q.extent(1), q.extent(2), v.extent(3)}, layout),
                     Array<T>({q.extent(0), q.extent(1), q.extent(2), 1}, layout)};
    attend(q.view(), k.view(), v.view(), {result.out.output(), result.lse.output()}, options);
    return result;
  }
  Result<T> run_with(Options with) const { return Problem(q, k, v, std::move(with)).run(); }
  Result<T> run_on_threads(int threads) const {
    Options limited = options;
    limited.threads = threads;
    return run_with(limited);
  }

  /// The same options as the reference spells them.
  reference::Formula formula() const {
    reference::Formula f;
    // The engine's scale is the nearest double to the one of the formula; its error is in the
    // bound.
    f.scale = options.scale ? Real(*options.scale) : 1 / std::sqrt(Real(q.extent(3)));
    f.temperature = options.temperature;
    if (options.causal) {
      const Position position = options.position.value_or(Position::top_left());
      const std::int64_t offset = position.offset(q.extent(2), k.extent(2));
      f.visible.push_back([offset](const reference::Place& p) { return p.j <= p.i + offset; });
    }
    return f;
  }
  reference::Row reference_row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return reference::attend_row<T>(q.view(), k.view(), v.view(), formula(), b, h, i);
  }
};

/// Inputs like those of a model: normal, with scores of a few units.
template <class T>
Problem<T> random_problem(const Shape& shape, std::uint64_t seed,
                          Layout layout = Layout::heads_first) {
  Problem<T> problem(shape, layout);
  Random random(seed);
  for (Array<T>* array : {&problem.q, &problem.k, &problem.v})
    array->fill([&] { return random.normal(); });
  return problem;
}

/// The exact answer with its tolerance, computed once and compared with any number of results.
template <class T>
class Expected {
 public:
  explicit Expected(const Problem<T>& problem)
      : H_(problem.q.extent(1)), n_q_(problem.q.extent(2)), d_v_(problem.v.extent(3)) {
    const auto f = problem.formula();
    const Tensor q = problem.q.view(), k = problem.k.view(), v = problem.v.view();
    for (std::int64_t b = 0; b < problem.q.extent(0); ++b)
      for (std::int64_t h = 0; h < H_; ++h)
        for (std::int64_t i = 0; i < n_q_; ++i) {
          rows_.push_back(reference::attend_row<T>(q, k, v, f, b, h, i));
          bounds_.push_back(error_bound<T>(q, k, v, f, rows_.back(), b, h, i));
        }
  }

  std::string difference_from(const Result<T>& result) const {
    Difference found;
    result.out.for_each_place([&](auto b, auto h, auto i, auto c) {
      const auto row = static_cast<std::size_t>((b * H_ + h) * n_q_ + i);
      const auto col = static_cast<std::size_t>(c);
      const Real actual = result.out.at(b, h, i, c), expected = rows_[row].out[col];
      found.expect(close(actual, expected, bounds_[row].out[col]), actual, expected, "out", b, h, i,
                   c);
    });
    result.lse.for_each_place([&](auto b, auto h, auto i, auto) {
      const auto row = static_cast<std::size_t>((b * H_ + h) * n_q_ + i);
      const Real actual = result.lse.at(b, h, i, 0), expected = rows_[row].lse;
      found.expect(close(actual, expected, bounds_[row].lse), actual, expected, "lse", b, h, i);
    });
    return found.text();
  }

 private:
  std::int64_t H_, n_q_, d_v_;
  std::vector<reference::Row> rows_;
  std::vector<RowBound> bounds_;
};

/// On every target, alone and with company.
template <class T>
void check_against_reference(const Problem<T>& problem) {
  const Expected<T> expected(problem);
  on_every_target([&] {
    for (const int threads : {1, 2}) {
      INFO("threads " << threads);
      CHECK(expected.difference_from(problem.run_on_threads(threads)) == "");
    }
  });
}

template <class T>
std::string bit_difference(const Result<T>& actual, const Result<T>& expected) {
  const std::string out = bit_difference(actual.out, expected.out);
  const std::string lse = bit_difference(actual.lse, expected.lse);
  return (out.empty() ? "" : "out: " + out) + (lse.empty() ? "" : " lse: " + lse);
}

}  // namespace lookback::test
