// The three rows to check by hand. With the identity as V the context is the weights.
#include <cmath>
#include <fstream>
#include <iterator>

#include "catch.hpp"
#include "support/cases.hpp"
#include "support/npy.hpp"

using namespace lookback::test;

namespace {

struct WorkedRow {
  double temperature = 0, lse = 0;
  std::vector<double> weights;
};

struct Example {
  std::string name;
  std::vector<double> scores, rounded;
  std::vector<WorkedRow> rows;
};

/// The numbers that follow "key": in text from position at, which moves behind them.
std::vector<double> numbers_after(const std::string& text, const std::string& key,
                                  std::size_t& at) {
  const auto found = text.find("\"" + key + "\":", at);
  if (found == std::string::npos) FAIL("no " << key);
  const char* next = text.c_str() + found + key.size() + 3;
  std::vector<double> numbers;
  for (char* end = nullptr; *next != ']' && *next != '}' && *next != '"'; next = end) {
    next += std::string(next).find_first_not_of(" \n[,");
    const double number = std::strtod(next, &end);
    if (end == next) break;
    numbers.push_back(number);
  }
  at = static_cast<std::size_t>(next - text.c_str());
  return numbers;
}

std::vector<Example> read_examples() {
  std::ifstream file(data_path("worked-examples.json"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<Example> examples;
  for (std::size_t at = text.find("\"name\""); at != std::string::npos;) {
    const std::size_t end = std::min(text.find("\"name\"", at + 1), text.size());
    const std::size_t quote = text.find('"', at + 7) + 1;
    Example example{text.substr(quote, text.find('"', quote) - quote), {}, {}, {}};
    example.scores = numbers_after(text, "scores", at);
    example.rounded = numbers_after(text, "expected_rounded_at_T1", at);
    while (text.find("\"temperature\"", at) < end) {
      WorkedRow row;
      row.temperature = numbers_after(text, "temperature", at).at(0);
      row.weights = numbers_after(text, "weights", at);
      row.lse = numbers_after(text, "lse", at).at(0);
      example.rows.push_back(row);
    }
    examples.push_back(example);
    at = text.find("\"name\"", at);
  }
  return examples;
}

template <class T>
Problem<T> problem_of(const Example& example, double temperature) {
  const auto n = static_cast<std::int64_t>(example.scores.size());
  Problem<T> p(Shape{1, n, 1, n});
  p.options.scale = 1;
  p.options.temperature = temperature;
  p.q.fill_value(1);
  for (std::int64_t j = 0; j < n; ++j)
    p.k.at(0, 0, j, 0) = T(example.scores[static_cast<std::size_t>(j)]);
  p.v.for_each_place([&](auto, auto, auto j, auto c) { p.v.at(0, 0, j, c) = T(j == c); });
  return p;
}

}  // namespace

TEMPLATE_TEST_CASE("worked rows: weights and lse at each temperature", "", float, double) {
  const auto examples = read_examples();
  REQUIRE(examples.size() == 3);
  REQUIRE(examples[0].rows.size() == 3);
  REQUIRE(examples[0].scores == std::vector<double>{1, 5, 3, 1, 6});
  // Scores rounded to T, 4 u |s - m| / T <= 40 u in the exponent, and a few sums: under 100 u.
  constexpr Real kTolerance = 50 * std::numeric_limits<TestType>::epsilon();
  for (const Example& example : examples)
    for (const WorkedRow& row : example.rows) {
      INFO(example.name << " at T = " << row.temperature);
      on_every_path(problem_of<TestType>(example, row.temperature), [&](const auto& result) {
        Difference found;
        for (std::size_t j = 0; j < row.weights.size(); ++j) {
          const Real w = result.out.at(0, 0, 0, static_cast<std::int64_t>(j));
          found.expect(close(w, row.weights[j], kTolerance), w, row.weights[j], j);
        }
        CHECK(found.text() == "");
        CHECK(close(result.lse.at(0, 0, 0, 0), row.lse, kTolerance));
      });
    }
}

TEST_CASE("worked rows: the three decimals that are printed") {
  for (const Example& example : read_examples()) {
    INFO(example.name);
    on_every_path(problem_of<float>(example, 1), [&](const auto& result) {
      for (std::size_t j = 0; j < example.rounded.size(); ++j) {
        const double w = result.out.at(0, 0, 0, static_cast<std::int64_t>(j));
        CHECK(std::round(w * 1000) == std::round(example.rounded[j] * 1000));
      }
    });
  }
}
