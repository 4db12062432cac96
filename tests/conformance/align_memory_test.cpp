// Views take memory that does not grow with n_q x n_k. Peaks are those of a process, so each call
// is made in a child of its own, which also keeps the parent free of threads.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>

#include "catch.hpp"
#include "support/view_request.hpp"

using namespace lookback::test;
using lookback::Heads;
using lookback::Options;
using lookback::Outputs;
using lookback::Pooling;
using lookback::Stage;
using lookback::Type;

namespace {

constexpr std::int64_t kMiB = 1024 * 1024;

struct Measured {
  std::int64_t arrays_and_before, extra;  // bytes
  double align_seconds, attend_seconds;
  double received;  // the sum over the keys
};

std::int64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;  // in KiB on Linux
}

template <class F>
double seconds_of(F f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// f() in a child; what it returns comes back through a pipe.
template <class F>
Measured in_child(F f) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::fflush(stdout);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int code = 1;
    try {
      const Measured measured = f();
      code = write(ends[1], &measured, sizeof measured) == sizeof measured ? 0 : 2;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in the child: %s\n", error.what());
    }
    _exit(code);
  }
  close(ends[1]);
  Measured measured{};
  const auto got = read(ends[0], &measured, sizeof measured);
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  REQUIRE(got == sizeof measured);
  return measured;
}

AnyProblem long_problem(std::int64_t n, std::int64_t d) {
  AnyProblem p(Type::float32, 1, 1, 1, n, n, d, d);
  Random random(test_seed());
  for (AnyArray* a : {&p.q, &p.k, &p.v}) a->fill([&] { return random.symmetric(2); });
  return p;
}

/// Rows, top 8, entropy, received and a map of 512 x 512.
ViewRequest one_of_each(std::int64_t n) {
  ViewRequest request;
  request.rows_at = Stage::weights;
  for (std::int64_t i = 0; i < 16; ++i) request.rows.push_back(i * n / 16);
  request.top = 8;
  request.entropy = request.received_sum = true;
  request.pooling = Pooling::mean;
  request.R = request.C = 512;
  return request;
}

Measured measure_memory(std::int64_t n, std::int64_t d, std::optional<int> threads) {
  const AnyProblem p = long_problem(n, d);
  const ViewRequest request = one_of_each(n);
  ViewResults<float> results(p, request);  // touched: its pages are not counted as the engine's
  const auto views = results.views(request);
  Options options;
  options.threads = threads;
  Measured measured{};
  measured.arrays_and_before = peak_bytes();
  measured.align_seconds = seconds_of([&] { align(p.q.view(), p.k.view(), views, options); });
  measured.extra = peak_bytes() - measured.arrays_and_before;
  for (std::int64_t j = 0; j < n; ++j) measured.received += results.received_sum->at(0, 0, j, 0);
  return measured;
}

/// align() with the context, attend(), and align() without it, in turns; the best of each.
void print_times(std::int64_t n, int threads, int turns) {
  const AnyProblem p = long_problem(n, 64);
  ViewRequest request = one_of_each(n);
  request.context = true;
  ViewResults<float> results(p, request);
  const auto views = results.views(request);
  Options options;
  options.threads = threads;
  double attended = 1e30, with_context = 1e30, without = 1e30;
  for (int turn = 0; turn < turns; ++turn) {
    attended = std::min(attended, seconds_of([&] {
                          attend(p.q.view(), p.k.view(), p.v.view(), Outputs(results.out->output()),
                                 options);
                        }));
    with_context =
        std::min(with_context, seconds_of([&] {
                   align(p.q.view(), p.k.view(), p.v.view(), results.out->output(), views, options);
                 }));
    without = std::min(without, seconds_of([&] { align(p.q.view(), p.k.view(), views, options); }));
  }
  std::printf(
      "n %ld, %d threads: attend %.2f s; align %.2f s = %.2f x, with context %.2f s = %.2f x\n",
      static_cast<long>(n), threads, attended, without, without / attended, with_context,
      with_context / attended);
  std::fflush(stdout);
}

void check_memory(std::int64_t n, std::int64_t d, std::optional<int> threads) {
  const Measured m = in_child([&] { return measure_memory(n, d, threads); });
  std::printf("n %ld: %.1f MiB before the call, %.1f MiB more in it, %.1f s\n",
              static_cast<long>(n), double(m.arrays_and_before) / kMiB, double(m.extra) / kMiB,
              m.align_seconds);
  CHECK(m.extra < 64 * kMiB);
  CHECK(std::fabs(m.received / static_cast<double>(n) - 1) < 1e-4);
}

}  // namespace

TEST_CASE("align memory: rows, top 8, entropy, received and a map of 65,536 positions (slow)") {
  check_memory(LOOKBACK_TEST_SANITIZED ? 2048 : 65536, 64, {});
}

TEST_CASE("align memory: the same on one thread, for fewer features (slow)") {
  check_memory(LOOKBACK_TEST_SANITIZED ? 2048 : 65536, 8, 1);
}

// Not a test: LOOKBACK_TEST_N positions (16,384), best of LOOKBACK_TEST_TURNS (5).
TEST_CASE("align time: beside attend, on 1 and 2 threads", "[.time]") {
  const auto number = [](const char* name, int otherwise) {
    const char* given = std::getenv(name);
    return given ? std::atoi(given) : otherwise;
  };
  for (const int threads : {1, 2}) {
    print_times(number("LOOKBACK_TEST_N", 16384), threads, number("LOOKBACK_TEST_TURNS", 5));
  }
}
