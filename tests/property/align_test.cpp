// Random views over random combinations of all options, against the whole matrix in extended
// precision. The tolerance is the bound that support/expected_views.hpp derives.
#include <tbb/task_arena.h>

#include <cstdio>

#include "catch.hpp"
#include "support/expected_views.hpp"
#include "support/targets.hpp"

using namespace lookback::test;
using lookback::Heads;
using lookback::Pooling;
using lookback::Position;
using lookback::Stage;
using lookback::Target;
using lookback::Type;
using lookback::Window;

namespace {

constexpr int kDraws = LOOKBACK_TEST_SANITIZED ? 40 : 400;

template <class F>
void on_threads(int threads, F f) {
  // More threads than cores take part only in an arena of their own.
  tbb::task_arena arena(threads);
  arena.execute(f);
}

/// What attend() gives of the same problem is what align() gives on the way.
template <class T>
std::string difference_from_attend(const AnyProblem& p, const ViewResults<T>& results) {
  if (!results.out && !results.lse) return "";
  AnyProblem with_lse = p;
  with_lse.with_lse = true;
  const Results expected = with_lse.run();
  Difference found;
  if (results.lse) {
    results.lse->for_each_place([&](auto b, auto h, auto i, auto c) {
      const T a = results.lse->at(b, h, i, c), e = static_cast<T>(expected.lse.get(b, h, i, c));
      found.expect(same_bits(a, e), a, e, "lse", b, h, i);
    });
  }
  return found.text() + (results.out ? bit_difference(*results.out, expected.out) : "");
}

/// On every target, against the reference; the same bits where they are promised.
template <class T>
void check_views(const AnyProblem& p, const ViewRequest& request, Random& random) {
  ExpectedViews<T> expected(p, request);
  std::optional<ViewResults<T>> first;
  for (const Target& target : supported_targets()) {
    const int threads = static_cast<int>(random.integer(1, 3));
    INFO("target " << target.name << ", threads " << threads);
    const TargetScope scope(target.name);
    try {
      std::optional<ViewResults<T>> results;
      on_threads(threads, [&] { results = run_views<T>(p, request); });
      const auto own = run_views<T>(p, all_weights(p, request.heads));
      std::string found = untouched_difference(*results);
      found += expected.difference_from(*results, *own.rows);
      found += difference_from_attend(p, *results);
      if (target.same_bits && first) found += bit_difference(*results, *first);
      if (target.same_bits && !first) first = std::move(results);
      CHECK(found == "");
    } catch (const std::exception& error) {
      FAIL_CHECK("refused: " << error.what());
    }
  }
}

template <class T>
void check_draws(Type q_type) {
  const std::uint64_t seed = test_seed() + 7000000 + 1000000 * static_cast<std::uint64_t>(q_type);
  INFO("seed " << test_seed());
  std::printf("seed %llu (LOOKBACK_TEST_SEED sets it): %d draws with q in %s\n",
              static_cast<unsigned long long>(test_seed()), kDraws, name_of(q_type));
  std::map<std::string, int> options, views;
  Allowed allowed;
  allowed.packed = false;
  for (int draw = 0; draw < kDraws; ++draw) {
    const AnyProblem p = random_any_problem(seed + std::uint64_t(draw), q_type, allowed);
    Random random(seed - std::uint64_t(draw));
    const ViewRequest request = random_request(random, p);
    INFO("draw " << draw << ": " << p.text() << "; " << request.text());
    count_options(p, options);
    count_views(request, views);
    check_views<T>(p, request, random);
  }
  for (const auto& [name, count] : views) {
    INFO(name);
    CHECK(count * 40 >= kDraws);
  }
  for (const char* name :
       {"grouped heads", "temperature", "softcap", "alibi", "sinks", "hook", "causal", "window",
        "prefix", "lengths", "documents", "blocks", "mask"}) {
    INFO(name);
    CHECK(options[name] * 40 >= kDraws);
  }
}

/// One of a few problems with n_q = n_k = 600, where rows fill several groups and key blocks.
AnyProblem long_problem(int which) {
  AnyProblem p(Type::float32, 1, 2, 1, 600, 600, 16, 8);
  Random random(test_seed() + std::uint64_t(which));
  for (AnyArray* a : {&p.q, &p.k, &p.v}) a->fill([&] { return random.normal(); });
  switch (which) {
    case 0:
      break;
    case 1:
      p.causal = true;
      p.softcap = 3;
      break;
    case 2:
      p.window = Window{40, 3};
      p.sinks = std::vector<double>{0.5, 3};
      break;
    case 3:
      p.alibi = std::vector<double>{0.25, 0.01};
      p.anchor = Position::Anchor::offset;
      p.one_offset = -170;
      p.causal = true;
      break;
    default:
      p.hook = TestHook{TestHook::Kind::hide_some};
      p.query_documents.emplace();
      for (std::int64_t i = 0; i < 600; ++i) p.query_documents->push_back(i / 130);
      break;
  }
  return p;
}

}  // namespace

TEST_CASE("align: random views with q in float32") {
  check_draws<float>(Type::float32);
}
TEST_CASE("align: random views with q in float64") {
  check_draws<double>(Type::float64);
}
TEST_CASE("align: random views with q in bfloat16") {
  check_draws<float>(Type::bfloat16);
}
TEST_CASE("align: random views with q in float16") {
  check_draws<float>(Type::float16);
}

TEST_CASE("align: every view of 600 rows and keys") {
  for (int which = 0; which < 5; ++which) {
    const AnyProblem p = long_problem(which);
    for (const Heads heads : {Heads::each, Heads::mean, Heads::max}) {
      ViewRequest request = ViewRequest::everything(p);
      request.heads = heads;
      request.top = 64;
      request.R = heads == Heads::each ? 101 : 600;
      request.C = heads == Heads::each ? 57 : 599;
      request.pooling = heads == Heads::max ? Pooling::max : Pooling::mean;
      request.mass = heads == Heads::mean ? 1301 : 33;
      request.is_signed = heads != Heads::each;
      request.last = heads == Heads::each ? 600 : 210;
      INFO("problem " << which << ", " << request.text());
      Random random(test_seed());
      if (LOOKBACK_TEST_SANITIZED && which > 0) continue;
      check_views<float>(p, request, random);
    }
  }
}

TEST_CASE("align: scores of 600 rows at every stage") {
  for (int which = 0; which < 5; ++which) {
    const AnyProblem p = long_problem(which);
    for (const Stage stage : {Stage::scaled, Stage::capped, Stage::final}) {
      ViewRequest request;
      request.rows_at = stage;
      for (std::int64_t i = 599; i >= 0; i -= 3) request.rows.push_back(i);
      INFO("problem " << which << ", " << request.text());
      Random random(test_seed());
      check_views<float>(p, request, random);
    }
  }
}
