// B59: the limit on threads is the caller's arena, a global limit, or the option, and none of them
// changes a bit.
#include <sys/resource.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <chrono>

#include "catch.hpp"
#include "support/problem.hpp"

using namespace lookback::test;

namespace {

using Control = tbb::global_control;

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Processor time per elapsed time of a long call: about the number of threads at work, or fewer
/// where the machine is busy, but never more.
template <class F>
double threads_at_work(F call) {
  call();  // the workers have been started and have gone to sleep
  const double before = processor_seconds();
  const auto start = std::chrono::steady_clock::now();
  call();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return (processor_seconds() - before) / elapsed.count();
}

const Problem<float>& prefill() {
  static const auto p = random_problem<float>(Shape{2000, 2000, 64, 64}, test_seed());
  return p;
}
const Problem<float>& decode() {
  static const auto p = random_problem<float>(Shape{1, 200000, 32, 32}, test_seed());
  return p;
}

}  // namespace

TEST_CASE("B59 arenas, global limits and the option give the same bits") {
  INFO("seed " << test_seed());
  for (const auto* p : {&prefill(), &decode()}) {
    const auto expected = p->run_on_threads(1);
    for (const std::size_t limit : {1u, 2u, 4u}) {
      INFO("limit " << limit);
      {
        const Control control(Control::max_allowed_parallelism, limit);
        CHECK(bit_difference(p->run(), expected) == "");
      }
      Result<float> inside;
      tbb::task_arena arena(static_cast<int>(limit));
      arena.execute([&] { inside = p->run(); });
      CHECK(bit_difference(inside, expected) == "");
      CHECK(bit_difference(p->run_on_threads(static_cast<int>(limit)), expected) == "");
    }
    CHECK(bit_difference(p->run_on_threads(1000), expected) == "");
  }
}

TEST_CASE("B59 a limit of one thread keeps the call on one thread") {
  for (const auto* p : {&prefill(), &decode()}) {
    const double by_option = threads_at_work([&] { p->run_on_threads(1); });
    tbb::task_arena arena(1);
    const double by_arena = threads_at_work([&] { arena.execute([&] { p->run(); }); });
    const double by_control = threads_at_work([&] {
      const Control control(Control::max_allowed_parallelism, 1);
      p->run();
    });
    INFO("threads at work: " << by_option << ", " << by_arena << ", " << by_control);
    CHECK(by_option < 1.3);
    CHECK(by_arena < 1.3);
    CHECK(by_control < 1.3);
  }
}

TEST_CASE("B59 a call leaves the limits of the process alone") {
  const auto before = Control::active_value(Control::max_allowed_parallelism);
  prefill().run_on_threads(1);
  CHECK(Control::active_value(Control::max_allowed_parallelism) == before);
  const Control control(Control::max_allowed_parallelism, 3);
  prefill().run();
  CHECK(Control::active_value(Control::max_allowed_parallelism) == 3);
}

TEST_CASE("B59 calls inside tasks of the caller, beside and within each other") {
  INFO("seed " << test_seed());
  const auto few = random_problem<float>(Shape{3, 2500, 24, 16}, test_seed());
  const auto many = random_problem<float>(Shape{120, 700, 24, 16}, test_seed());
  const auto few_expected = few.run(), many_expected = many.run();
  std::atomic<int> wrong{0};
  tbb::parallel_for(0, 40, [&](int task) {
    if (task % 2 == 0)
      wrong += bit_difference(few.run(), few_expected) != "";
    else
      wrong += bit_difference(many.run_on_threads(1 + task % 3), many_expected) != "";
  });
  CHECK(wrong == 0);
}
