// A row's bits depend on what it sees and on the options, not on how that is said, stored, cut,
// batched or computed: with every option.
#include <tbb/task_arena.h>

#include <cmath>
#include <functional>

#include "catch.hpp"
#include "support/any_random.hpp"
#include "support/any_spellings.hpp"
#include "support/paths.hpp"

using namespace lookback::test;
using lookback::Extents;
using lookback::Type;

namespace {

constexpr int kDraws = LOOKBACK_TEST_SANITIZED ? 60 : 400;

/// The problem on a random path.
Results run_anyhow(const AnyProblem& p, Random& random) {
  const PathScope path(kPaths[static_cast<std::size_t>(random.integer(0, 4))]);
  return p.run(static_cast<int>(random.integer(1, 2)));
}

void check_same(const char* what, const Results& actual, const Results& expected) {
  const std::string found = bit_difference(actual, expected);
  INFO(what);
  CHECK(found == "");
}

/// check(problem, its results, random) for random problems on every target.
void on_random_problems(
    std::uint64_t first_seed, const Allowed& allowed, const std::function<void(AnyProblem&)>& adapt,
    const std::function<void(const AnyProblem&, const Results&, Random&)>& check) {
  INFO("seed " << test_seed());
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::uint64_t seed = test_seed() + first_seed + std::uint64_t(draw);
    AnyProblem p = random_any_problem(seed, static_cast<Type>(draw % 4), allowed);
    p.with_lse = true;
    adapt(p);
    INFO("draw " << draw << ": " << p.text());
    on_every_target([&] {
      Random random(seed);
      check(p, run_anyhow(p, random), random);
    });
  }
}

const auto as_it_is = [](AnyProblem&) {};

}  // namespace

TEST_CASE("bits: a visible set spelled by ranges and ids, as a mask, as -inf, as blocks") {
  Allowed allowed;
  allowed.packed = false;
  on_random_problems(400000, allowed, as_it_is,
                     [](const AnyProblem& p, const Results& expected, Random& random) {
                       check_same("mask", run_anyhow(as_mask(p), random), expected);
                       check_same("blocks", run_anyhow(as_blocks(p), random), expected);
                       // This hook writes over the -inf of a bias.
                       if (p.hook && p.hook->kind == TestHook::Kind::overwrite) return;
                       check_same("bias", run_anyhow(as_bias(p), random), expected);
                     });
}

TEST_CASE("bits: whatever else is said of keys that are hidden") {
  Allowed allowed;
  allowed.packed = allowed.zero_strides = false;
  on_random_problems(
      410000, allowed, as_it_is, [](const AnyProblem& p, const Results& expected, Random& random) {
        AnyProblem other = p;
        if (!other.mask) return;
        other.mask = AnyArray(Type::boolean, all_pairs(p));
        AnyProblem unmasked = p;
        unmasked.mask.reset();
        for_each_pair(p, [&](auto b, auto h, auto i, auto j, bool visible) {
          const bool elsewhere = !unmasked.sees(p.sequence(b), h, i, j);
          other.mask->set_byte(b, h, i, j, elsewhere ? int(random.integer(0, 1)) : visible ? 1 : 0);
        });
        check_same("mask", run_anyhow(other, random), expected);
      });
}

TEST_CASE("bits: a head alone, a sequence alone, a row alone, and all together") {
  on_random_problems(
      420000, {}, as_it_is, [](const AnyProblem& p, const Results& expected, Random& random) {
        if (p.H() == 0 || p.sequences() == 0) return;
        const std::int64_t h = random.integer(0, p.H() - 1);
        const Extents from{0, h, 0, 0}, e = expected.out.extent();
        check_same("head", run_anyhow(head_of(p, h), random),
                   {expected.out.part(from, {e[0], 1, e[2], e[3]}),
                    expected.lse.part(from, {e[0], 1, e[2], 1})});
        const std::int64_t s = random.integer(0, p.sequences() - 1);
        const AnyProblem alone = sequence_of(p, s);
        const Results of_sequence = sequence_of(p, expected, s);
        check_same("sequence", run_anyhow(alone, random), of_sequence);
        const std::int64_t n_q = alone.q.extent(2);
        if (n_q == 0) return;
        const std::int64_t step = alone.blocks ? alone.block_rows : 1;
        const std::int64_t i = random.integer(0, (n_q - 1) / step) * step;
        check_same("row", run_anyhow(rows_of(alone, i, 1), random), rows_of(of_sequence, i, 1));
      });
}

TEST_CASE("bits: packed, padded and separate sequences") {
  int packed = 0;
  on_random_problems(
      430000, {}, as_it_is, [&](const AnyProblem& p, const Results& expected, Random& random) {
        if (!p.q_bounds) return;
        ++packed;
        const AnyProblem padded = as_padded(p);
        const Results of_padded = run_anyhow(padded, random);
        for (std::int64_t s = 0; s < p.sequences(); ++s) {
          const Results own = sequence_of(p, expected, s);
          check_same("separate", run_anyhow(sequence_of(p, s), random), own);
          check_same("padded", rows_of(sequence_of(padded, of_padded, s), 0, p.sequence(s).n_q),
                     own);
        }
      });
  CHECK(packed > kDraws / 5);
}

TEST_CASE("bits: grouped heads and keys repeated by hand") {
  on_random_problems(440000, {}, as_it_is,
                     [](const AnyProblem& p, const Results& expected, Random& random) {
                       check_same("repeated", run_anyhow(with_repeated_heads(p), random), expected);
                     });
}

TEST_CASE("bits: decoding a row with the keys so far, and prefill of all rows") {
  const auto make_causal = [](AnyProblem& p) {
    p = with_explicit_position(p);
    p.causal = true;
    p.prefix.reset();  // of which a row may see more than the keys so far
  };
  on_random_problems(
      450000, {}, make_causal, [](const AnyProblem& p, const Results& expected, Random& random) {
        for (std::int64_t n = 0; n < p.sequences(); ++n) {
          const AnyProblem alone = sequence_of(p, n);
          const Results prefill = sequence_of(p, expected, n);
          const std::int64_t step = alone.blocks ? alone.block_rows : 1;
          for (std::int64_t i = 0; i < alone.q.extent(2); i += step * random.integer(1, 9)) {
            AnyProblem row = rows_of(alone, i, 1);
            const std::int64_t so_far = row.sequence(0).offset + 1;
            AnyProblem decode =
                keys_of(row, 0, std::clamp<std::int64_t>(so_far, 0, row.k.extent(2)));
            decode.sinks = row.sinks;
            decode.causal = false;
            INFO("sequence " << n << ", row " << i);
            check_same("decode", run_anyhow(decode, random), rows_of(prefill, i, 1));
          }
        }
      });
}

TEST_CASE("bits: whatever an earlier call has left in the thread's memory") {
  on_random_problems(480000, {}, as_it_is,
                     [](const AnyProblem& p, const Results& expected, Random& random) {
                       const PathScope path(kPaths[static_cast<std::size_t>(random.integer(0, 4))]);
                       AnyProblem ruined = p;  // NaN wherever p will have sums
                       for (AnyArray* array : {&ruined.k, &ruined.v}) {
                         array->fill([] { return std::nan(""); });
                       }
                       ruined.run(1);
                       check_same("afterwards", p.run(1), expected);
                     });
}

TEST_CASE("bits: storage types and strides of the inputs, strides of the outputs") {
  on_random_problems(460000, {}, as_it_is,
                     [](const AnyProblem& p, const Results& expected, Random& random) {
                       AnyProblem wide = with_wide_storage(p);
                       const Extents out = expected.out.extent(), lse = expected.lse.extent();
                       wide.out_stride = RandomProblem::strides(random, out, false);
                       wide.lse_stride = RandomProblem::strides(random, lse, false);
                       check_same("wide", run_anyhow(wide, random), expected);
                     });
}

TEST_CASE("bits: every path, every instruction set, 1, 2 and 7 threads") {
  INFO("seed " << test_seed());
  tbb::task_arena arena(7);
  for (int draw = 0; draw < kDraws / 4; ++draw) {
    const std::uint64_t seed = test_seed() + 470000 + std::uint64_t(draw);
    const AnyProblem p = random_any_problem(seed, static_cast<Type>(draw % 4));
    INFO("draw " << draw << ": " << p.text());
    std::optional<Results> first;
    for (const auto& target : same_bits_targets())
      for (const auto path : kPaths)
        for (const int threads : {1, 2, 7}) {
          INFO("target " << target.name << ", path " << name_of(path) << ", threads " << threads);
          const TargetScope target_scope(target.name);
          const PathScope path_scope(path);
          Results results;
          arena.execute([&] { results = p.run(threads); });
          if (!first) first = results;
          check_same("path", results, *first);
        }
  }
}
