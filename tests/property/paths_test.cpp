// B09: every way through the engine on the same inputs: both kernels, split over key chunks or not,
// each instruction set, one thread and several. The planner reaches each only for some shapes, so
// the path is forced here.
#include <cmath>

#include "catch.hpp"
#include "plan.hpp"
#include "support/cases.hpp"

using namespace lookback::test;
using lookback::Path;
using lookback::Position;

namespace {

constexpr Path kPaths[] = {Path::many_rows, Path::few_rows, Path::many_rows_split,
                           Path::few_rows_split};

class PathScope {
 public:
  explicit PathScope(Path path) { lookback::force_path(path); }
  ~PathScope() { lookback::force_path(Path::automatic); }
  PathScope(const PathScope&) = delete;
  PathScope& operator=(const PathScope&) = delete;
};

/// check(result) for every target, path and number of threads.
template <class T, class F>
void on_every_path_forced(const Problem<T>& problem, F check) {
  for (const Path path : kPaths) {
    const PathScope scope(path);
    INFO("path " << static_cast<int>(path));
    on_every_path(problem, check);
  }
}

/// Within the bound of the reference on all paths, and the same bits on all paths of a target.
template <class T>
void check_paths(const Problem<T>& problem) {
  const Expected<T> expected(problem);
  on_every_target([&] {
    const auto automatic = problem.run();
    for (const Path path : kPaths) {
      const PathScope scope(path);
      INFO("path " << static_cast<int>(path));
      const auto result = problem.run_on_threads(2);
      CHECK(expected.difference_from(result) == "");
      CHECK(bit_difference(result, automatic) == "");
    }
  });
}

}  // namespace

TEMPLATE_TEST_CASE("B09 paths: random shapes and options agree to the bit", "", float, double) {
  INFO("seed " << test_seed());
  Random random(test_seed());
  for (int draw = 0; draw < 40; ++draw) {
    Shape shape{.n_q = random.integer(1, 70),
                .n_k = random.integer(1, 1300),
                .d = random.integer(1, 40),
                .d_v = random.integer(1, 40)};
    shape.H_kv = random.integer(1, 2);
    shape.H = shape.H_kv * random.integer(1, 3);
    auto p = random_problem<TestType>(shape, random.bits());
    if (draw % 2 == 0) p.options = causal_at(Position::at(random.integer(-shape.n_q, shape.n_k)));
    if (draw % 3 == 0) p.options.temperature = 0.1 + random.unit();
    INFO("draw " << draw << ": " << shape);
    check_paths(p);
  }
}

TEMPLATE_TEST_CASE("B09 paths: tails of every extent", "", float, double) {
  INFO("seed " << test_seed());
  for (std::int64_t n = 1; n <= 70; n += 3)
    for (auto extent : {&Shape::n_q, &Shape::n_k, &Shape::d, &Shape::d_v}) {
      Shape shape{.n_q = 7, .n_k = 35, .d = 13, .d_v = 9};
      shape.*extent = n;
      INFO(shape);
      check_paths(random_problem<TestType>(shape, test_seed()));
    }
}

TEST_CASE("B09 paths: chunks that hold no visible key, at either end and in between") {
  // Hidden by -inf scores, so that the planner cannot leave the chunks out.
  for (const std::int64_t seen : {0, 511, 512, 1030, 2047}) {
    Problem<float> p(Shape{3, 2048, 1, 1});
    p.options.scale = 1;
    p.q.fill_value(1);
    p.k.fill_value(-INFINITY);
    p.v.fill_value(NAN);
    p.k.at(0, 0, seen, 0) = -30000;
    p.v.at(0, 0, seen, 0) = 7;
    INFO("only key " << seen);
    on_every_path_forced(p, [](const auto& r) {
      CHECK(r.out.at(0, 0, 2, 0) == 7);
      CHECK(r.lse.at(0, 0, 2, 0) == -30000);
    });
  }
}

TEST_CASE("B09 paths: rows that see nothing and rows that see NaN") {
  INFO("seed " << test_seed());
  auto p = random_problem<float>(Shape{20, 1200, 4, 3}, test_seed());
  p.options = causal_at(Position::at(-5));
  for (std::int64_t c = 0; c < 4; ++c) p.k.at(0, 0, 9, c) = NAN;
  for (std::int64_t j = 15; j < 1200; ++j) p.v.at(0, 0, j, 0) = NAN;
  on_every_path_forced(p, [](const auto& r) {
    for (std::int64_t i = 0; i < 20; ++i) {
      const float out = r.out.at(0, 0, i, 0), lse = r.lse.at(0, 0, i, 0);
      INFO("row " << i);
      if (i < 5)
        CHECK((out == 0 && lse == -INFINITY));
      else if (i < 14)
        CHECK((std::isfinite(out) && std::isfinite(lse)));
      else
        CHECK((std::isnan(out) && std::isnan(lse)));
    }
  });
}
