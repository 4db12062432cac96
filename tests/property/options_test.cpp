// Random combinations of all options, through every path, against the reference in extended
// precision. The tolerance is the bound that support/any_reference.hpp derives.
#include <cstdio>

#include "catch.hpp"
#include "support/any_random.hpp"
#include "support/any_reference.hpp"
#include "support/paths.hpp"

using namespace lookback::test;
using lookback::Path;
using lookback::Target;
using lookback::Type;

namespace {

constexpr int kDraws = LOOKBACK_TEST_SANITIZED ? 150 : 2000;

/// Nothing beside the elements of an output was written: those bytes still hold their filling.
std::string gap_difference(const AnyArray& output) {
  std::vector<bool> written(output.bytes().size());
  output.for_each_place([&](auto b, auto h, auto i, auto c) {
    const std::size_t at = output.offset(b, h, i, c);
    for (std::size_t byte = 0; byte < std::size_t(size_of(output.type())); ++byte)
      written[at + byte] = true;
  });
  for (std::size_t at = 0; at < written.size(); ++at)
    if (!written[at] && output.bytes()[at] != std::byte{0xff})
      return "byte " + std::to_string(at) + " lies between the elements and was written";
  return "";
}

/// A 16-bit out is the float32 out, rounded.
std::string rounding_difference(const AnyProblem& p, const Results& results) {
  if (size_of(p.out_type) != 2) return "";
  AnyProblem wide = p;
  wide.out_type = Type::float32;
  return bit_difference(results.out, wide.run().out.as(p.out_type));
}

struct Checker {
  const AnyProblem& p;
  const AnyExpected expected;
  std::optional<Results> first;  // of a target that promises the same bits

  explicit Checker(const AnyProblem& problem) : p(problem), expected(problem) {}

  void run(const Target& target, Path path, int threads) {
    INFO("target " << target.name << ", path " << name_of(path) << ", threads " << threads);
    const TargetScope target_scope(target.name);
    const PathScope path_scope(path);
    Results results;
    try {
      results = p.run(threads);
    } catch (const std::exception& error) {
      FAIL_CHECK("refused: " << error.what());
      return;
    }
    std::string found = gap_difference(results.out) + gap_difference(results.lse);
    if (target.same_bits && first) {
      found += bit_difference(results, *first);
    } else {
      found += expected.difference_from(results);
      found += rounding_difference(p, results);
    }
    if (target.same_bits && !first) first = results;
    if (!found.empty()) FAIL_CHECK(found);
  }
};

void check_draw(const AnyProblem& p, Random& random) {
  Checker checker(p);
  if (!checker.expected.has_finite_bounds()) FAIL_CHECK("a bound that accepts anything");
  const auto targets = supported_targets();
  const auto threads = [&] { return static_cast<int>(random.integer(1, 2)); };
  for (const Target& target : targets) checker.run(target, Path::automatic, threads());
  for (const Path path : kPaths) {
    const auto which = random.integer(0, std::int64_t(targets.size()) - 1);
    checker.run(targets[static_cast<std::size_t>(which)], path, threads());
  }
}

void check_draws(Type q_type) {
  const std::uint64_t seed = test_seed() + 1000000 * static_cast<std::uint64_t>(q_type);
  INFO("seed " << test_seed());
  std::printf("seed %llu (LOOKBACK_TEST_SEED sets it): %d draws with q in %s\n",
              static_cast<unsigned long long>(test_seed()), kDraws, name_of(q_type));
  std::map<std::string, int> counts;
  for (int draw = 0; draw < kDraws; ++draw) {
    const AnyProblem p = random_any_problem(seed + std::uint64_t(draw), q_type);
    INFO("draw " << draw << ": " << p.text());
    count_options(p, counts);
    Random random(seed - std::uint64_t(draw));
    check_draw(p, random);
  }
  for (const auto& [name, count] : counts) {
    const bool of_types = name.find("float") != std::string::npos || name == "mixed types";
    const bool possible = q_type == Type::float64
                              ? !of_types || name.find("64") != std::string::npos
                              : name.find("64") == std::string::npos;
    INFO(name);
    if (possible) CHECK(count * 60 >= kDraws);
  }
}

}  // namespace

TEST_CASE("options: random combinations with q in float32") {
  check_draws(Type::float32);
}
TEST_CASE("options: random combinations with q in float64") {
  check_draws(Type::float64);
}
TEST_CASE("options: random combinations with q in bfloat16") {
  check_draws(Type::bfloat16);
}
TEST_CASE("options: random combinations with q in float16") {
  check_draws(Type::float16);
}
