// Splitting a call changes nothing: queries in several calls give the same bits, keys in several
// calls joined by merge the same result to rounding, whatever the options.
#include "catch.hpp"
#include "support/any_parts.hpp"
#include "support/any_random.hpp"
#include "support/any_reference.hpp"
#include "support/paths.hpp"

using namespace lookback::test;
using lookback::OutputTensor;
using lookback::Path;
using lookback::Target;
using lookback::Type;

namespace {

constexpr int kDraws = LOOKBACK_TEST_SANITIZED ? 100 : 800;

/// 0, some multiples of step in any distance, also 0 apart, and n.
std::vector<std::int64_t> random_cuts(Random& random, std::int64_t n, std::int64_t step) {
  std::vector<std::int64_t> cuts = {0, n};
  for (auto more = random.integer(0, 3); more > 0; --more)
    cuts.push_back(random.integer(0, n / step) * step);
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

/// Each call takes a path and a number of threads of its own.
Results run_anyhow(const AnyProblem& p, Random& random) {
  const PathScope path(kPaths[static_cast<std::size_t>(random.integer(0, 4))]);
  return p.run(static_cast<int>(random.integer(1, 2)));
}

void check_query_split(const AnyProblem& p, const Results& whole, Random& random) {
  const auto cuts = random_cuts(random, p.q.extent(2), p.blocks ? p.block_rows : 1);
  for (std::size_t at = 1; at < cuts.size(); ++at) {
    const std::int64_t first = cuts[at - 1], count = cuts[at] - first;
    const Results part = run_anyhow(rows_of(p, first, count), random);
    INFO("rows " << first << " to " << first + count);
    const std::string found = bit_difference(part, rows_of(whole, first, count));
    CHECK(found == "");
  }
}

/// The parts of the keys, the first of which has the sinks.
std::vector<AnyProblem> key_parts(const AnyProblem& p, Random& random) {
  const auto cuts = random_cuts(random, p.k.extent(2), p.blocks ? p.block_keys : 1);
  std::vector<AnyProblem> parts;
  for (std::size_t at = 1; at < cuts.size(); ++at) {
    parts.push_back(keys_of(p, cuts[at - 1], cuts[at] - cuts[at - 1]));
    if (at == 1) parts.back().sinks = p.sinks;
    if (p.compute_type() == Type::float32)
      parts.back().out_type = random.integer(0, 3) == 0 ? p.out_type : Type::float32;
  }
  return parts;
}

Results merged(const AnyProblem& p, const std::vector<Results>& parts) {
  std::vector<lookback::Part> views;
  for (const Results& part : parts) views.push_back({part.out.view(), part.lse.view()});
  Results whole = p.empty_results();
  lookback::merge(views, {whole.out.output(), whole.lse.output()});
  return whole;
}

/// With weights W_p = exp(lse_p - lse) of the parts, each of which is off by e_p relatively: by the
/// error of its lse, 4 u |lse_p - m| for its exponential and (2 parts + 8) u for the sums, out is
/// off by W_p (error of out_p + e_p (|out_p| + |out|)), and lse by the sum of W_p e_p.
struct MergeBound {
  const Real u;
  const Real parts;

  Real relative(const ExpectedRow& part, Real m) const {
    return std::expm1(part.lse_bound + u * (4 * std::fabs(part.lse - m) + 2 * parts + 8));
  }
};

std::string merge_difference(const AnyProblem& p, const Results& result,
                             const std::vector<AnyProblem>& parts) {
  const AnyExpected whole(p);
  std::vector<AnyExpected> exact;
  for (const AnyProblem& part : parts) exact.emplace_back(part);
  const bool wide = p.compute_type() == Type::float64;
  const Real tiny = wide ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  const Rounding stored = rounding_of(p.out_type);
  Difference found;
  result.lse.for_each_place([&](auto b, auto h, auto i, auto) {
    const MergeBound bound{rounding_of(p.compute_type()).relative, Real(parts.size())};
    const ExpectedRow& row = whole.row(b, h, i);
    Real m = -INFINITY, l = 0;
    for (const auto& part : exact) m = std::fmax(m, part.row(b, h, i).lse);
    std::vector<Real> errors(row.out.size(), 0);
    for (const auto& part : exact) {
      const ExpectedRow& of = part.row(b, h, i);
      if (of.lse == -INFINITY) continue;
      const Real weight = std::exp(of.lse - row.lse), e = bound.relative(of, m);
      l += weight * e;
      for (std::size_t c = 0; c < errors.size(); ++c)
        errors[c] += weight * ((1 + e) * of.out_bound[c] +
                               e * (std::fabs(of.out[c]) + std::fabs(row.out[c]))) +
                     tiny * std::fabs(of.out[c]);
    }
    const Real widen = 1 / (1 - 2 * l);
    for (std::size_t c = 0; c < errors.size(); ++c) {
      const Real error = errors[c] * widen;
      const Real rounding = stored.relative * (std::fabs(row.out[c]) + error) + stored.absolute;
      const Real actual = result.out.get(b, h, i, std::int64_t(c));
      found.expect(close(actual, row.out[c], error + rounding), actual, row.out[c], "out", b, h, i,
                   c);
    }
    const Real lse_error = l * widen + bound.u * (4 * std::fabs(m) + 4 * std::fabs(row.lse - m) +
                                                  std::fabs(row.lse) + 4);
    const Real actual = result.lse.get(b, h, i, 0);
    found.expect(close(actual, row.lse, row.lse == -INFINITY ? 0 : lse_error), actual, row.lse,
                 "lse", b, h, i);
  });
  return found.text();
}

void check_key_split(const AnyProblem& p, Random& random) {
  const std::vector<AnyProblem> parts = key_parts(p, random);
  std::vector<Results> results;
  for (const AnyProblem& part : parts) results.push_back(run_anyhow(part, random));
  INFO(parts.size() << " parts");
  const std::string found = merge_difference(p, merged(p, results), parts);
  CHECK(found == "");
}

template <class Check>
void on_random_problems(std::uint64_t first_seed, Check check) {
  INFO("seed " << test_seed());
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::uint64_t seed = test_seed() + first_seed + std::uint64_t(draw);
    AnyProblem p = random_any_problem(seed, static_cast<Type>(draw % 4));
    p.with_lse = true;
    INFO("draw " << draw << ": " << p.text());
    Random random(seed);
    const auto targets = supported_targets();
    const TargetScope scope(targets[std::size_t(draw) % targets.size()].name);
    INFO("target " << lookback::active_target());
    check(p, random);
  }
}

}  // namespace

TEST_CASE("split: queries in several calls change no bit") {
  on_random_problems(200000, [](const AnyProblem& p, Random& random) {
    const Results whole = run_anyhow(p, random);
    if (!p.q_bounds) return check_query_split(p, whole, random);
    for (std::int64_t s = 0; s < p.sequences(); ++s) {
      INFO("packed sequence " << s);
      check_query_split(sequence_of(p, s), sequence_of(p, whole, s), random);
    }
  });
}

TEST_CASE("split: keys in several calls, joined by merge, agree to rounding") {
  on_random_problems(300000, [](const AnyProblem& p, Random& random) {
    if (!p.q_bounds) return check_key_split(p, random);
    for (std::int64_t s = 0; s < p.sequences(); ++s) {
      INFO("packed sequence " << s);
      check_key_split(sequence_of(p, s), random);
    }
  });
}

TEST_CASE("split: row by row and key by key") {
  AnyProblem p(Type::float32, 1, 2, 1, 7, 40, 5, 6);
  Random random(test_seed());
  for (AnyArray* array : {&p.q, &p.k, &p.v}) array->fill([&] { return random.normal(); });
  p.causal = true;
  p.anchor = lookback::Position::Anchor::bottom_right;
  p.alibi = std::vector{0.25, 0.0625};
  on_every_target([&] {
    const Results whole = p.run();
    for (std::int64_t i = 0; i < 7; ++i)
      CHECK(bit_difference(rows_of(p, i, 1).run(), rows_of(whole, i, 1)) == "");
    std::vector<AnyProblem> parts;
    std::vector<Results> results;
    for (std::int64_t j = 0; j < 40; ++j) {
      parts.push_back(keys_of(p, j, 1));
      results.push_back(parts.back().run());
    }
    CHECK(merge_difference(p, merged(p, results), parts) == "");
  });
}
