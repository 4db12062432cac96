// Progress and cancelling of views, and the caller's floating-point modes.
#include <algorithm>
#include <cfenv>
#include <stdexcept>
#include <thread>

#include "catch.hpp"
#include "support/float_environment.hpp"
#include "support/targets.hpp"
#include "support/view_request.hpp"

using namespace lookback::test;
using lookback::Error;
using lookback::ErrorCode;
using lookback::Heads;
using lookback::Options;
using lookback::Type;

namespace {

/// Takes two threads most of a second: reports come some twenty times in one.
const AnyProblem& large() {
  static const AnyProblem p = [] {
    AnyProblem made(Type::float32, 2, 4, 1, LOOKBACK_TEST_SANITIZED ? 700 : 5000,
                    LOOKBACK_TEST_SANITIZED ? 700 : 5000, 32, 4);
    Random random(test_seed());
    for (AnyArray* a : {&made.q, &made.k, &made.v}) a->fill([&] { return random.normal(); });
    return made;
  }();
  return p;
}

ViewRequest everything_of_large() {
  ViewRequest request = ViewRequest::everything(large());
  request.context = true;
  return request;
}

AnyProblem small_problem() {
  AnyProblem p(Type::float32, 1, 3, 1, 430, 333, 8, 4);
  Random random(test_seed());
  for (AnyArray* a : {&p.q, &p.k, &p.v}) a->fill([&] { return random.normal(); });
  return p;
}

}  // namespace

TEST_CASE("align progress: fractions rise from 0 to 1 on the calling thread") {
  for (const int threads : {1, 2}) {
    std::vector<double> seen;
    bool elsewhere = false;
    Options options;
    options.threads = threads;
    options.progress = [&, caller = std::this_thread::get_id()](double fraction) {
      elsewhere = elsewhere || std::this_thread::get_id() != caller;
      seen.push_back(fraction);
      return true;
    };
    run_views<float>(large(), everything_of_large(), options);
    INFO("threads " << threads << ", reports " << seen.size());
    CHECK_FALSE(elsewhere);
    REQUIRE(seen.size() >= 4);
    CHECK(std::is_sorted(seen.begin(), seen.end()));
    CHECK(seen.front() == 0);
    CHECK(seen.back() == 1);
    // Both passes report on their way.
    const auto half = std::find_if(seen.begin(), seen.end(), [](double f) { return f >= 0.5; });
    CHECK(half - seen.begin() >= 2);
    CHECK(seen.end() - half >= 2);
  }
}

TEST_CASE("align progress: a callback can end the call in either pass") {
  for (const double until : {0.0, 0.3, 0.5, 0.8}) {
    INFO("cancelled from " << until);
    double last = 0;
    Options options;
    options.progress = [&](double fraction) {
      last = fraction;
      return fraction < until;
    };
    try {
      run_views<float>(large(), everything_of_large(), options);
      FAIL_CHECK("was not cancelled");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::cancelled);
      CHECK(std::string(error.what()).size() > 20);
    }
    CHECK(last >= until);
    CHECK(last < 1);
  }
}

TEST_CASE("align progress: an exception from the callback is passed on") {
  Options options;
  options.progress = [](double fraction) {
    if (fraction > 0.6) throw std::runtime_error("enough");
    return true;
  };
  CHECK_THROWS_WITH(run_views<float>(large(), everything_of_large(), options), "enough");
}

TEST_CASE("align progress: a callback may make calls of its own") {
  const AnyProblem small = small_problem();
  const ViewRequest request = ViewRequest::everything(small);
  const auto expected_small = run_views<float>(small, request);
  const auto expected = run_views<float>(large(), everything_of_large());
  for (const int threads : {1, 2}) {
    std::string found;
    Options options;
    options.threads = threads;
    options.progress = [&](double) {
      found += bit_difference(run_views<float>(small, request), expected_small);
      return true;
    };
    const auto results = run_views<float>(large(), everything_of_large(), options);
    CHECK(found == "");
    CHECK(bit_difference(results, expected) == "");
  }
}

TEST_CASE("align: the caller's rounding and flushing change nothing, and are restored") {
  const AnyProblem p = small_problem();
  for (const Heads heads : {Heads::each, Heads::mean, Heads::max}) {
    ViewRequest request = ViewRequest::everything(p);
    request.heads = heads;
    on_every_target([&] {
      for (const int threads : {1, 2}) {
        const auto expected = run_views<float>(p, request, threads);
        for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
          std::optional<ViewResults<float>> results;
          std::uint64_t before = 0, after = 1;
          {
            const FloatEnvironmentScope scope;
            std::fesetround(rounding);
            flush_subnormals();
            before = control_word();
            results = run_views<float>(p, request, threads);
            after = control_word();
          }
          CHECK(bit_difference(*results, expected) == "");
          CHECK(before == after);
        }
      }
    });
  }
}

TEST_CASE("align: calls from many threads at once") {
  const AnyProblem p = small_problem();
  const ViewRequest request = ViewRequest::everything(p);
  const auto expected = run_views<float>(p, request);
  std::vector<std::string> found(6);
  std::vector<std::thread> threads;
  for (std::string& text : found) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 5; ++turn) {
        text += bit_difference(run_views<float>(p, request), expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : found) CHECK(text == "");
}
