// Results as bit patterns in tests/data/golden.txt, which every target with fused multiply-add must
// give for ever. The inputs are multiples of 2^-8 made by integer hashes, exact in both types.
//
// LOOKBACK_WRITE_GOLDEN=path writes the file anew: only for a change of the arithmetic.
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "support/npy.hpp"
#include "support/problem.hpp"

using namespace lookback::test;
using lookback::Options;
using lookback::Position;

namespace {

struct Golden {
  const char* name;
  Shape shape;
  Options options;
  double width;  // inputs lie in [-width, width)
};

Options with(double scale, double temperature, std::optional<Position> causal = {}) {
  Options options = causal ? causal_at(*causal) : Options{};
  options.scale = scale;
  options.temperature = temperature;
  return options;
}

/// Few numbers out of many keys: one row, a tile and a tail of each kernel, one chunk and several.
const Golden kGoldens[] = {
    {"one-key", {2, 1, 3, 2}, {}, 2},
    {"few-short", {3, 37, 5, 3}, {}, 2},
    {"few-chunks", {2, 1300, 17, 3}, {}, 1},
    {"one-row-long", {1, 5000, 64, 4}, {}, 1},
    {"many-short", {21, 45, 8, 3}, {}, 2},
    {"many-chunks", {40, 1300, 33, 1}, {}, 1},
    {"causal", {35, 35, 7, 2}, causal_at(Position::top_left()), 2},
    {"causal-empty-rows", {19, 30, 7, 2}, causal_at(Position::at(-5)), 2},
    {"causal-chunks", {18, 1100, 16, 2}, causal_at(Position::bottom_right()), 1},
    {"sharp", {5, 600, 12, 3}, with(0.25, 0.37), 2},
    {"flat", {5, 600, 12, 3}, with(0.25, 3.3), 2},
    {"negative-scale", {17, 90, 9, 2}, with(-0.3, 1), 2},
    {"wide-scores", {6, 1000, 24, 2}, with(30, 1, Position::at(900)), 2},
    {"groups", {.n_q = 2, .n_k = 530, .d = 10, .d_v = 2, .B = 2, .H = 6, .H_kv = 2}, {}, 2},
    {"wide-values", {2, 70, 6, 37}, {}, 2},
};

template <class T>
Problem<T> problem_of(const Golden& golden) {
  Problem<T> p(golden.shape);
  p.options = golden.options;
  Random random(static_cast<std::uint64_t>(golden.shape.n_k * 1000 + golden.shape.d));
  const auto wide = static_cast<std::int64_t>(golden.width * 256);
  for (auto* array : {&p.q, &p.k, &p.v})
    array->fill([&] { return static_cast<double>(random.integer(-wide, wide - 1)) / 256; });
  return p;
}

/// "name type", then every out and lse as hexadecimal digits; one zero and one NaN stand for all.
template <class T>
std::string line_of(const Golden& golden) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  std::ostringstream line;
  line << golden.name << (sizeof(T) == 4 ? " float32" : " float64") << std::hex;
  const auto r = problem_of<T>(golden).run();
  for (const auto* array : {&r.out, &r.lse})
    array->for_each_place([&](auto b, auto h, auto i, auto c) {
      const T x = array->at(b, h, i, c);
      line << ' ' << (x == 0 ? Bits{0} : x != x ? ~Bits{0} : std::bit_cast<Bits>(x));
    });
  return line.str();
}

std::vector<std::string> all_lines() {
  std::vector<std::string> lines;
  for (const Golden& golden : kGoldens) {
    lines.push_back(line_of<float>(golden));
    lines.push_back(line_of<double>(golden));
  }
  return lines;
}

/// Where two lines part, in numbers after the name.
std::string first_difference(const std::string& actual, const std::string& expected) {
  std::istringstream a(actual), e(expected);
  std::string x, y;
  for (int at = -2;; ++at) {
    const bool more = bool(a >> x), wanted = bool(e >> y);
    if (!more && !wanted) return "";
    if (more != wanted || x != y)
      return "number " + std::to_string(at) + " is " + (more ? x : "missing") + ", not " +
             (wanted ? y : "there");
  }
}

}  // namespace

TEST_CASE("bits: golden results on every target with fused multiply-add") {
  if (const char* path = std::getenv("LOOKBACK_WRITE_GOLDEN")) {
    std::ofstream file(path);
    for (const std::string& line : all_lines()) file << line << '\n';
    REQUIRE(file.flush());
    return;
  }
  std::ifstream file(data_path("golden.txt"));
  INFO("tests/data/golden.txt; see the head of golden_test.cpp");
  REQUIRE(file);
  std::vector<std::string> expected;
  for (std::string line; std::getline(file, line);) expected.push_back(line);
  int compared = 0;
  for (const auto& target : supported_targets()) {
    if (!target.same_bits) continue;
    const TargetScope scope(target.name);
    INFO("target " << target.name);
    const auto actual = all_lines();
    REQUIRE(actual.size() == expected.size());
    for (std::size_t l = 0; l < actual.size(); ++l) {
      INFO(expected[l].substr(0, 40));
      CHECK(first_difference(actual[l], expected[l]) == "");
    }
    ++compared;
  }
  if (compared == 0) skipped("no instruction set here has fused multiply-add");
}

TEST_CASE("bits: the inputs of the golden results are the same everywhere") {
  // Sums of exact numbers, so any difference here is in the inputs.
  const auto p = problem_of<double>(kGoldens[1]);
  double q = 0, k = 0, v = 0;
  std::int64_t at = 1;
  for (const auto& [array, sum] : {std::pair{&p.q, &q}, {&p.k, &k}, {&p.v, &v}})
    for (const double x : array->storage()) *sum += x * double(at++ % 16);
  CHECK(q == -11.74609375);
  CHECK(k == -266.87890625);
  CHECK(v == -79.203125);
  const auto narrow = problem_of<float>(kGoldens[1]);
  CHECK(difference(narrow.k, p.k, 0) == "");
}
