// The same bits for any number of threads and on every instruction set with fused multiply-add.
#include <tbb/task_arena.h>

#include <string>
#include <vector>

#include "catch.hpp"
#include "support/problem.hpp"

using namespace lookback::test;
using lookback::Position;

namespace {

/// Many rows, few rows, one row of many chunks, groups of heads, causal, other temperatures.
template <class T>
std::vector<Problem<T>> problems() {
  std::vector<Problem<T>> list;
  const auto add = [&](const Shape& shape, lookback::Options options = {}) {
    list.push_back(random_problem<T>(shape, test_seed() + list.size()));
    list.back().options = std::move(options);
  };
  add({.n_q = 300, .n_k = 1300, .d = 64, .d_v = 48});
  add({.n_q = 300, .n_k = 1300, .d = 33, .d_v = 17}, causal_at(Position::bottom_right()));
  for (const std::int64_t n_q : {1, 2, 5, 8, 9, 16, 17})
    add({.n_q = n_q, .n_k = 5000, .d = 40, .d_v = 24});
  add({.n_q = 1, .n_k = 60000, .d = 16, .d_v = 16});
  add({.n_q = 3, .n_k = 9000, .d = 16, .d_v = 16}, causal_at(Position::at(7000)));
  add({.n_q = 1, .n_k = 3000, .d = 32, .d_v = 32, .B = 2, .H = 8, .H_kv = 2});
  add({.n_q = 70, .n_k = 70, .d = 32, .d_v = 32, .B = 3, .H = 6, .H_kv = 6});
  add({.n_q = 130, .n_k = 600, .d = 80, .d_v = 96});
  list.back().options.temperature = 0.37;
  add({.n_q = 4, .n_k = 1200, .d = 130, .d_v = 100});
  list.back().options.scale = -0.11;
  // Scores of hundreds, so that the maximum moves often and weights underflow.
  add({.n_q = 60, .n_k = 1500, .d = 20, .d_v = 8});
  list.back().options.scale = 25;
  return list;
}

std::string name_of(std::size_t index) {
  return "problem " + std::to_string(index);
}

}  // namespace

TEMPLATE_TEST_CASE("bits: 1, 2 and 7 threads", "", float, double) {
  INFO("seed " << test_seed());
  const auto list = problems<TestType>();
  on_every_target([&] {
    for (std::size_t i = 0; i < list.size(); ++i) {
      INFO(name_of(i));
      const auto one = list[i].run_on_threads(1);
      CHECK(bit_difference(list[i].run_on_threads(2), one) == "");
      // More threads than cores, so that 7 take part also on a small machine.
      tbb::task_arena arena(7);
      Result<TestType> seven;
      arena.execute([&] { seven = list[i].run_on_threads(7); });
      CHECK(bit_difference(seven, one) == "");
      CHECK(bit_difference(list[i].run(), one) == "");
    }
  });
}

TEMPLATE_TEST_CASE("bits: every instruction set with fused multiply-add", "", float, double) {
  INFO("seed " << test_seed());
  std::vector<std::string> names;
  for (const auto& target : supported_targets())
    if (target.same_bits) names.push_back(target.name);
  if (names.size() < 2) {
    skipped("this machine has fewer than two instruction sets with fused multiply-add");
    return;
  }
  const auto list = problems<TestType>();
  for (std::size_t i = 0; i < list.size(); ++i) {
    Result<TestType> first;
    {
      const TargetScope scope(names[0]);
      first = list[i].run();
    }
    for (const std::string& name : names) {
      const TargetScope scope(name);
      INFO(name_of(i) << ", " << name << " against " << names[0]);
      CHECK(bit_difference(list[i].run(), first) == "");
    }
  }
}

TEMPLATE_TEST_CASE("bits: the same call again and again", "", float, double) {
  INFO("seed " << test_seed());
  const auto list = problems<TestType>();
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}, list.size() - 1}) {
    const auto first = list[i].run();
    for (int turn = 0; turn < 20; ++turn) {
      INFO(name_of(i) << ", turn " << turn);
      CHECK(bit_difference(list[i].run(), first) == "");
    }
  }
}
