// Progress, cancelling, and calls from many threads at once.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "catch.hpp"
#include "support/problem.hpp"

using namespace lookback::test;
using lookback::Error;
using lookback::ErrorCode;

namespace {

// Takes two threads a few tenths of a second, and reports come some twenty times in a second.
constexpr std::int64_t kPositions = LOOKBACK_TEST_SANITIZED ? 1000 : 3000;
constexpr Shape kLarge{
    .n_q = kPositions, .n_k = kPositions, .d = 64, .d_v = 64, .B = 4, .H = 8, .H_kv = 8};

const auto& large() {
  static const auto problem = random_problem<float>(kLarge, test_seed());
  return problem;
}
const auto& large_result() {
  static const auto result = large().run();
  return result;
}
Array<float> large_output() {
  return Array<float>({kLarge.B, kLarge.H, kLarge.n_q, kLarge.d_v});
}

/// Rows that nobody wrote; run() fills outputs with NaN first, so they are made here.
std::int64_t untouched_rows(const Array<float>& out) {
  std::int64_t rows = 0;
  out.for_each_place([&](auto b, auto h, auto i, auto c) {
    if (c == 0) rows += std::isnan(out.at(b, h, i, c));
  });
  return rows;
}

}  // namespace

TEST_CASE("progress: fractions rise from 0 to 1 on the calling thread") {
  for (const int threads : {1, 2}) {
    std::vector<double> seen;
    bool elsewhere = false;
    lookback::Options options;
    options.threads = threads;
    options.progress = [&, caller = std::this_thread::get_id()](double fraction) {
      elsewhere = elsewhere || std::this_thread::get_id() != caller;
      seen.push_back(fraction);
      return true;
    };
    const auto reported = large().run_with(options);
    INFO("threads " << threads << ", reports " << seen.size());
    CHECK_FALSE(elsewhere);
    REQUIRE(seen.size() >= 3);
    CHECK(std::is_sorted(seen.begin(), seen.end()));
    CHECK(seen.front() >= 0);
    CHECK(seen.front() < 0.9);
    CHECK(seen.back() == 1);
    CHECK(bit_difference(reported, large_result()) == "");
  }
}

TEST_CASE("progress: decoding against one long past reports too") {
  auto p = random_problem<float>(Shape{1, 300000, 32, 32}, test_seed());
  std::vector<double> seen;
  p.options.progress = [&](double fraction) {
    seen.push_back(fraction);
    return true;
  };
  p.run();
  REQUIRE(seen.size() >= 2);
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  CHECK(seen.back() == 1);
}

TEST_CASE("progress: answering false cancels the call soon, and the next call is whole") {
  for (const int threads : {1, 2}) {
    INFO("threads " << threads);
    lookback::Options options;
    options.threads = threads;
    int reports = 0;
    options.progress = [&](double) { return ++reports < 2; };
    const auto& p = large();
    Array<float> out = large_output();
    try {
      attend(p.q.view(), p.k.view(), p.v.view(), {out.output()}, options);
      FAIL("was not cancelled");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::cancelled);
      CHECK(std::string(error.what()).find("cancel") != std::string::npos);
    }
    CHECK(reports == 2);
    CHECK(untouched_rows(out) > kLarge.B * kLarge.H * kLarge.n_q / 4);
    options.progress = nullptr;
    CHECK(bit_difference(p.run_with(options), large_result()) == "");
  }
}

TEST_CASE("progress: an exception from the callback ends the call and is passed on") {
  struct Mine : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  for (const int threads : {1, 2}) {
    lookback::Options options;
    options.threads = threads;
    int reports = 0;
    options.progress = [&](double) -> bool {
      ++reports;
      throw Mine("from the callback");
    };
    const auto& p = large();
    Array<float> out = large_output();
    CHECK_THROWS_AS(attend(p.q.view(), p.k.view(), p.v.view(), {out.output()}, options), Mine);
    CHECK(reports == 1);
    CHECK(untouched_rows(out) > kLarge.B * kLarge.H * kLarge.n_q / 4);
    options.progress = nullptr;
    CHECK(bit_difference(p.run_with(options), large_result()) == "");
  }
}

TEST_CASE("progress: a callback may call attend itself") {
  const auto small = random_problem<float>(Shape{20, 600, 16, 16}, test_seed());
  const auto expected = small.run();
  std::string found;
  lookback::Options options;
  options.progress = [&](double) {
    found += bit_difference(small.run(), expected);
    return true;
  };
  const auto result = large().run_with(options);
  CHECK(found == "");
  CHECK(bit_difference(result, large_result()) == "");
}

TEST_CASE("calls from many threads at once do not disturb each other") {
  INFO("seed " << test_seed());
  const auto few = random_problem<float>(Shape{2, 3000, 32, 24}, test_seed());
  const auto many = random_problem<float>(Shape{100, 700, 32, 24}, test_seed() + 1);
  const auto wide = random_problem<double>(Shape{40, 700, 16, 8}, test_seed() + 2);
  const auto few_expected = few.run(), many_expected = many.run();
  const auto wide_expected = wide.run();
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&, caller] {
      for (int turn = 0; turn < 20; ++turn) {
        // Assertions are for one thread only: count here, judge below.
        if (caller % 3 == 0) wrong += bit_difference(few.run(), few_expected) != "";
        if (caller % 3 == 1) wrong += bit_difference(many.run_on_threads(2), many_expected) != "";
        if (caller % 3 == 2) wrong += bit_difference(wide.run(), wide_expected) != "";
      }
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}
