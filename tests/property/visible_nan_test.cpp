// A NaN that is seen makes exactly the rows that see it NaN, whatever the options: one in a query
// or a key all of the row, one in a value its column of the context. Nobody else changes a bit.
#include <limits>

#include "catch.hpp"
#include "support/any_random.hpp"
#include "support/paths.hpp"

using namespace lookback::test;
using lookback::Type;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int kDraws = LOOKBACK_TEST_SANITIZED ? 60 : 500;

/// Results in which `whole` rows are NaN, and of `column` rows one feature.
struct Spoiler {
  const AnyProblem& p;
  AnyProblem::Sequence s;
  std::int64_t kv_head, key, column;
  bool in_value;

  Results expected(Results results) const {
    for (std::int64_t h = 0; h < p.H(); ++h)
      for (std::int64_t i = 0; i < s.n_q; ++i) {
        if (p.kv_head(h) != kv_head || !p.counts(s, h, i, key)) continue;
        const std::int64_t at = s.first_q + i;
        if (in_value) {
          results.out.set(s.batch, h, at, column, kNaN);
          continue;
        }
        for (std::int64_t c = 0; c < p.d_v(); ++c) results.out.set(s.batch, h, at, c, kNaN);
        results.lse.set(s.batch, h, at, 0, kNaN);
      }
    return results;
  }
};

void check_key(const AnyProblem& p, Random& random, bool in_value) {
  const auto s = p.sequence(random.integer(0, p.sequences() - 1));
  if (s.n_k == 0) return;
  AnyProblem spoiled = p;
  AnyArray& array = in_value ? spoiled.v : spoiled.k;
  const Spoiler spoiler{p,
                        s,
                        random.integer(0, p.k.extent(1) - 1),
                        random.integer(0, s.n_k - 1),
                        random.integer(0, array.extent(3) - 1),
                        in_value};
  array.set(s.batch, spoiler.kv_head, s.first_k + spoiler.key, spoiler.column, kNaN);
  INFO("NaN in " << (in_value ? "value " : "key ") << spoiler.key << ", feature " << spoiler.column
                 << ", key-value head " << spoiler.kv_head << ", sequence " << s.index);
  const std::string found = bit_difference(spoiled.run(), spoiler.expected(p.run()));
  if (!found.empty()) FAIL_CHECK(found);
}

void check_query(const AnyProblem& p, Random& random) {
  const auto s = p.sequence(random.integer(0, p.sequences() - 1));
  if (s.n_q == 0) return;
  const std::int64_t h = random.integer(0, p.H() - 1), i = random.integer(0, s.n_q - 1);
  AnyProblem spoiled = p;
  spoiled.q.set(s.batch, h, s.first_q + i, random.integer(0, p.q.extent(3) - 1), kNaN);
  Results expected = p.run();
  bool sees = false;
  for (std::int64_t j = 0; j < s.n_k; ++j) sees = sees || p.counts(s, h, i, j);
  if (sees) {
    for (std::int64_t c = 0; c < p.d_v(); ++c) expected.out.set(s.batch, h, s.first_q + i, c, kNaN);
    expected.lse.set(s.batch, h, s.first_q + i, 0, kNaN);
  }
  INFO("NaN in query row " << i << ", head " << h << ", sequence " << s.index);
  const std::string found = bit_difference(spoiled.run(), expected);
  if (!found.empty()) FAIL_CHECK(found);
}

}  // namespace

TEST_CASE("visible NaN: exactly the rows that see it, with any options") {
  INFO("seed " << test_seed());
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::uint64_t seed = test_seed() + 130000 + std::uint64_t(draw);
    Allowed allowed;
    allowed.zero_strides = allowed.zero_sizes = false;  // one element is one place
    AnyProblem p = random_any_problem(seed, static_cast<Type>(draw % 4), allowed);
    p.with_lse = true;
    // The one hook that forgets the score forgets its NaN too.
    if (p.hook && p.hook->kind == TestHook::Kind::overwrite) p.hook.reset();
    if (p.sequences() == 0) continue;
    INFO("draw " << draw << ": " << p.text());
    on_every_target([&] {
      const PathScope scope(kPaths[std::size_t(draw / 4 % 5)]);
      Random random(seed);
      check_key(p, random, false);
      check_key(p, random, true);
      check_query(p, random);
    });
  }
}
