// Random AnyProblems: every option on its own and in company, at sizes that the reference can
// follow.
#pragma once

#include <map>
#include <string>

#include "support/any_problem.hpp"
#include "support/random.hpp"

namespace lookback::test {

/// Which options a draw may take. Some tests need to leave a few out.
struct Allowed {
  bool packed = true;
  bool zero_sizes = true;
  bool zero_strides = true;
  bool hook = true;
};

class RandomProblem {
 public:
  RandomProblem(Random& random, Type q_type, const Allowed& allowed)
      : random_(random), q_type_(q_type), allowed_(allowed) {}

  AnyProblem draw();

  /// Any strides, also negative ones, and 0 where elements may be shared.
  static Strides strides(Random& random, const Extents& extent, bool may_repeat);

 private:
  struct Sizes {
    std::int64_t B, H, H_kv, n_q, n_k, d, d_v;
  };
  bool chance(int percent) { return random_.integer(1, 100) <= percent; }
  std::int64_t pick(std::initializer_list<std::int64_t> from) {
    return from.begin()[random_.integer(0, static_cast<std::int64_t>(from.size()) - 1)];
  }
  Sizes sizes();
  Type float_type();
  AnyArray array(Type type, const Extents& extent, double width);
  Extents broadcast(const Extents& full);
  std::vector<std::int64_t> bounds(std::int64_t sequences, std::int64_t most);
  std::vector<double> per_head(const AnyProblem& p, double width);
  std::vector<std::int64_t> ids(std::int64_t n, std::int64_t B);

  void arrays(AnyProblem& p, const Sizes& s);
  void score_terms(AnyProblem& p);
  void bias(AnyProblem& p);
  void ranges(AnyProblem& p);
  void position(AnyProblem& p);
  void documents(AnyProblem& p);
  void blocks(AnyProblem& p);
  void mask(AnyProblem& p);

  Random& random_;
  Type q_type_;
  Allowed allowed_;
};

inline AnyProblem random_any_problem(std::uint64_t seed, Type q_type, const Allowed& allowed = {}) {
  Random random(seed);
  return RandomProblem(random, q_type, allowed).draw();
}

/// How often each option came up, so that a test can tell that it tested something.
void count_options(const AnyProblem& p, std::map<std::string, int>& counts);

}  // namespace lookback::test
