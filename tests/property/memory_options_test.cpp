// Beyond the arrays given, memory does not grow with n, whatever the option. Each call runs in a
// child process of its own, whose peak is read before and after.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>

#include "catch.hpp"
#include "support/any_problem.hpp"
#include "support/paths.hpp"

using namespace lookback::test;
using lookback::Extents;
using lookback::Path;
using lookback::Type;

namespace {

/// A copy of the keys would take 4 MB, one byte for each query and key 24 MB, and what a thread
/// keeps is 1 MB or so.
constexpr std::int64_t kQueries = 800, kKeys = 30000, kFewKeys = 1500;
constexpr long kMostGrowth = 1024, kMost = 6 * 1024;  // in KiB

long peak_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// From here on the peak counts from what is in use now, where the system can do that; elsewhere it
/// is the peak so far, which the arrays have just set.
void reset_peak() {
  std::ofstream("/proc/self/clear_refs") << 5;
}

AnyProblem problem_of(Type type, std::int64_t n_q, std::int64_t n_k) {
  AnyProblem p(type, 1, 2, 1, n_q, n_k, 16, 16);
  for (AnyArray* array : {&p.q, &p.k, &p.v}) array->fill_storage(0.25);
  p.anchor = lookback::Position::Anchor::bottom_right;
  return p;
}

using Set = std::function<void(AnyProblem&)>;

/// KiB by which the peak of a new process rises while it does what prepare() returns; -1 if that
/// fails.
long peak_rise(const std::function<std::function<void()>()>& prepare) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    bool done = false;
    try {
      const auto action = prepare();
      reset_peak();
      const long before = peak_kib();
      action();
      const long rise = peak_kib() - before;
      done = write(ends[1], &rise, sizeof rise) == sizeof rise;
    } catch (...) {  // told by the exit code: nothing may pass into the test framework's copy
    }
    _exit(done ? 0 : 1);
  }
  close(ends[1]);
  long rise = -1;
  if (read(ends[0], &rise, sizeof rise) != sizeof rise) rise = -1;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? rise : -1;
}

/// What one call takes beyond its arrays, on two threads: as many scratches.
long extra_kib(Type type, std::int64_t n_q, std::int64_t n_k, const Set& set, Path path) {
  return peak_rise([=] {
    AnyProblem p = problem_of(type, n_q, n_k);
    set(p);
    // Shared, so that they stand where they stood when their memory was touched.
    const auto problem = std::make_shared<AnyProblem>(std::move(p));
    const auto results = std::make_shared<Results>(problem->empty_results());
    return [=] {
      lookback::Options options = problem->options();
      options.threads = 2;
      const PathScope scope(path);
      attend(problem->q.view(), problem->k.view(), problem->v.view(),
             {results->out.output(), results->lse.output()}, options);
    };
  });
}

AnyArray along_keys(Type type, std::int64_t n_k, double even, double odd) {
  AnyArray a(type, {1, 1, 1, n_k});
  int next = 0;
  a.fill([&] { return next++ % 2 == 0 ? even : odd; });
  return a;
}

using Named = std::vector<std::pair<const char*, Set>>;

std::int64_t n_q(const AnyProblem& p) {
  return p.q.extent(2);
}
std::int64_t n_k(const AnyProblem& p) {
  return p.k.extent(2);
}

Named score_terms() {
  return {
      {"softcap", [](AnyProblem& p) { p.softcap = 5; }},
      {"alibi",
       [](AnyProblem& p) {
         p.alibi = std::vector{0.01, 0.02};
       }},
      {"bias along keys",
       [](AnyProblem& p) { p.bias = along_keys(p.compute_type(), n_k(p), 1, -2); }},
      {"16-bit bias along keys",
       [](AnyProblem& p) { p.bias = along_keys(Type::bfloat16, n_k(p), 1, -2); }},
      {"bias along queries",
       [](AnyProblem& p) {
         p.bias = AnyArray(p.compute_type(), {1, 1, n_q(p), 1});
         p.bias->fill_storage(0.5);
       }},
      {"bias of full extents with strides of 0",
       [](AnyProblem& p) {
         p.bias = AnyArray(p.compute_type(), {1, 2, n_q(p), n_k(p)}, {0, 0, 0, 1});
         p.bias->fill_storage(0.5);
       }},
      {"hook", [](AnyProblem& p) { p.hook = TestHook{TestHook::Kind::halve}; }},
      {"sinks",
       [](AnyProblem& p) {
         p.sinks = std::vector{1.0, 2.0};
       }},
  };
}

Named visibility() {
  return {
      {"causal", [](AnyProblem& p) { p.causal = true; }},
      {"window",
       [](AnyProblem& p) {
         p.window = lookback::Window{9000, 100};
       }},
      {"prefix",
       [](AnyProblem& p) {
         p.window = lookback::Window{1000, 0};
         p.prefix = 900;
       }},
      {"lengths", [](AnyProblem& p) { p.lengths = {n_k(p) - 7}; }},
      {"documents",
       [](AnyProblem& p) {
         p.query_documents.emplace();
         p.key_documents.emplace();
         for (std::int64_t i = 0; i < n_q(p); ++i) p.query_documents->push_back(i % 2);
         for (std::int64_t j = 0; j < n_k(p); ++j) p.key_documents->push_back(j % 2);
       }},
      {"blocks",
       [](AnyProblem& p) {
         p.block_rows = p.block_keys = 64;
         p.blocks = AnyArray(Type::boolean, {1, 1, (n_q(p) + 63) / 64, (n_k(p) + 63) / 64});
         p.blocks->fill_storage(1);
       }},
      {"mask along keys", [](AnyProblem& p) { p.mask = along_keys(Type::boolean, n_k(p), 1, 0); }},
      {"mask of full extents with strides of 0",
       [](AnyProblem& p) {
         p.mask = AnyArray(Type::boolean, {1, 2, n_q(p), n_k(p)}, {0, 0, 1, 0});
         p.mask->fill_storage(1);
       }},
  };
}

Named layouts() {
  return {
      {"none", [](AnyProblem&) {}},
      {"packed sequences",
       [](AnyProblem& p) {
         p.q_bounds = {0, n_q(p) / 3, n_q(p) / 3, n_q(p)};
         p.k_bounds = {0, 100, 200, n_k(p)};
       }},
      {"a feature stride of 2",
       [](AnyProblem& p) {
         for (AnyArray* array : {&p.k, &p.v}) {
           const Extents e = array->extent();
           *array = AnyArray(array->type(), e, {0, 0, 2 * e[3], 2});
           array->fill_storage(0.25);
         }
       }},
      {"hidden NaN",  // which rows are computed again for
       [](AnyProblem& p) {
         p.mask = along_keys(Type::boolean, n_k(p), 1, 0);
         for (std::int64_t j = 1; j < n_k(p); j += 2) p.v.set(0, 0, j, 0, NAN);
       }},
  };
}

Named all_options() {
  Named all = layouts();
  for (const Named& more : {score_terms(), visibility()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

void check_growth(const char* name, Type type, const Set& set, Path path) {
  const long few = extra_kib(type, kQueries, kFewKeys, set, path);
  const long many = extra_kib(type, kQueries, kKeys, set, path);
  INFO(name << ", " << name_of(type) << ", path " << name_of(path) << ": " << few << " KiB with "
            << kFewKeys << " keys, " << many << " KiB with " << kKeys);
  CHECK(few >= 0);
  CHECK(many >= 0);
  CHECK(many <= few + kMostGrowth);
  CHECK(many <= kMost);
}

}  // namespace

TEST_CASE("memory: the measure sees what is taken and given back") {
  if (LOOKBACK_TEST_SANITIZED) return skipped("a sanitizer's own memory hides the call's");
  const auto take = [](std::size_t mib) {
    return [mib] {
      return std::function([mib] {
        const std::vector<char> taken(mib << 20, 'x');
        if (taken[mib] != 'x') throw std::logic_error("not kept");
      });
    };
  };
  CHECK(peak_rise(take(8)) > 7 * 1024);
  CHECK(peak_rise(take(8)) < 10 * 1024);
  CHECK(peak_rise([] { return [] { throw std::logic_error("failed"); }; }) == -1);
}

TEST_CASE("memory: no option makes a call take more for more keys") {
  if (LOOKBACK_TEST_SANITIZED) return skipped("a sanitizer's own memory hides the call's");
  for (const auto& [name, set] : all_options()) {
    check_growth(name, Type::float32, set, Path::automatic);
    check_growth(name, Type::bfloat16, set, Path::many_rows_split);
  }
  for (const Type type : {Type::float64, Type::float16})
    check_growth(
        "none", type, [](AnyProblem&) {}, Path::automatic);
}

TEST_CASE("memory: no option makes a call take more for more queries") {
  if (LOOKBACK_TEST_SANITIZED) return skipped("a sanitizer's own memory hides the call's");
  for (const auto& [name, set] : all_options()) {
    const long few = extra_kib(Type::float32, kFewKeys, 500, set, Path::automatic);
    const long many = extra_kib(Type::float32, kKeys, 500, set, Path::automatic);
    INFO(name << ": " << few << " KiB with " << kFewKeys << " queries, " << many << " KiB with "
              << kKeys);
    CHECK(few >= 0);
    CHECK(many <= few + kMostGrowth);
    CHECK(many <= kMost);
  }
}

TEST_CASE("memory: decoding with any option does not copy the cache") {
  if (LOOKBACK_TEST_SANITIZED) return skipped("a sanitizer's own memory hides the call's");
  for (const auto& [name, set] : all_options()) {
    const long extra = extra_kib(Type::bfloat16, 1, 200000, set, Path::automatic);
    INFO(name << ": " << extra << " KiB");
    CHECK(extra >= 0);
    CHECK(extra <= kMost);  // the keys in float32 would take 13 MB
  }
}
