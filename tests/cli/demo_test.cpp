// `lookback demo`: every number that it shows is the right one.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "process.hpp"
#include "reference/attention.hpp"
#include "support/npy.hpp"

using namespace lookback::test;
namespace reference = lookback::reference;

namespace {

constexpr std::int64_t kTokens = 18;
constexpr std::int64_t kFeatures = 32;
const std::vector<std::string> kSentence = {
    "[CLS]",  "the", "cat",       "that",    "the",     "dog", "next", "door", "had",
    "chased", "all", "afternoon", "finally", "climbed", "the", "tree", ".",    "[SEP]"};

std::string demo(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "demo");
  const Outcome outcome = run(arguments);
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "");
  return outcome.out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The numbers of a line, in order; words and bars are passed over.
std::vector<double> numbers_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<double> numbers;
  for (std::string word; stream >> word;) {
    char* end = nullptr;
    const double number = std::strtod(word.c_str(), &end);
    if (end != word.c_str() && *end == '\0') numbers.push_back(number);
  }
  return numbers;
}

/// As many lines as there are words, each starting with its word, that follow a line with the
/// title.
std::vector<std::string> table_after(const std::string& text, const std::string& title,
                                     const std::vector<std::string>& words) {
  const std::vector<std::string> lines = lines_of(text);
  auto line = std::find_if(lines.begin(), lines.end(), [&](const std::string& candidate) {
    return candidate.find(title) != std::string::npos;
  });
  std::vector<std::string> table;
  for (const std::string& word : words) {
    if (line == lines.end() || ++line == lines.end()) break;
    std::string first;
    std::istringstream(*line) >> first;
    CHECK(first == word);
    table.push_back(*line);
  }
  REQUIRE(table.size() == words.size());
  return table;
}

nlohmann::json worked_example(const std::string& name) {
  std::ifstream file(data_path("worked-examples.json"));
  const nlohmann::json all = nlohmann::json::parse(file);
  for (const nlohmann::json& example : all.at("examples")) {
    if (example.at("name") == name) return example;
  }
  throw std::runtime_error("there is no worked example " + name);
}

struct Head {
  std::int64_t layer = 5, head = 11;
  double temperature = 1;
  bool causal = false;

  std::vector<std::string> arguments() const {
    std::vector<std::string> words = {
        "--act", "3", "--layer", std::to_string(layer), "--head", std::to_string(head)};
    if (temperature != 1) {
      words.insert(words.end(), {"--temperature", std::to_string(temperature)});
    }
    if (causal) words.emplace_back("--causal");
    return words;
  }

  /// One row of the reference, weights and blend.
  reference::Row row(std::int64_t i) const {
    static const Npy q = read_npy(data_path("minilm/cat/q.npy"));
    static const Npy k = read_npy(data_path("minilm/cat/k.npy"));
    static const Npy v = read_npy(data_path("minilm/cat/v.npy"));
    const auto view = [&](const Npy& all) {
      const std::int64_t first = (layer * 12 + head) * kTokens * kFeatures;
      return lookback::matrix(all.data.data() + first, kTokens, kFeatures);
    };
    reference::Formula formula;
    formula.scale = 1 / std::sqrt(reference::Real(kFeatures));
    formula.temperature = temperature;
    if (causal) formula.visible.push_back([](const reference::Place& p) { return p.j <= p.i; });
    return reference::attend_row<float>(view(q), view(k), view(v), formula, 0, 0, i);
  }
};

/// The shade of a weight; two where it is so close to a step that rounding decides.
std::string shades_of(reference::Real weight) {
  constexpr const char* kRamp = " .:-=+*#%@";
  constexpr reference::Real kRounding = 1e-5L;
  std::string shades;
  for (const reference::Real w : {weight - kRounding, weight + kRounding}) {
    const reference::Real level = std::sqrt(std::max<reference::Real>(w, 0)) * 10;
    shades += kRamp[std::min(static_cast<int>(level), 9)];
  }
  return shades;
}

void check_heat_map(const std::string& text, const Head& head) {
  const std::size_t label = 12;  // the longest word, two blanks before it and one after
  const std::vector<std::string> rows = table_after(text, "|   the |   .   [SEP]", kSentence);
  for (std::int64_t i = 0; i < kTokens; ++i) {
    std::string cells = rows[static_cast<std::size_t>(i)];
    cells.resize(label + kTokens * 4, ' ');
    const reference::Row row = head.row(i);
    for (std::int64_t j = 0; j < kTokens; ++j) {
      const char shade = cells[label + static_cast<std::size_t>(j) * 4];
      INFO("row " << i << ", column " << j << ": '" << shade << "'");
      CHECK(shades_of(row.weight[static_cast<std::size_t>(j)]).find(shade) != std::string::npos);
    }
  }
}

/// "cat 25 %", the strongest of row i.
std::string strongest(const Head& head, std::int64_t i) {
  const reference::Row row = head.row(i);
  const auto most = std::max_element(row.weight.begin(), row.weight.end());
  const std::string& word = kSentence[static_cast<std::size_t>(most - row.weight.begin())];
  return word + " " + std::to_string(std::lround(100 * *most)) + " %";
}

}  // namespace

TEST_CASE("cli demo: three acts, or one") {
  const std::string all = demo({});
  for (const char* act : {"ACT 1", "ACT 2", "ACT 3"}) {
    CHECK(all.find(act) != std::string::npos);
  }
  std::string one_by_one;
  for (const char* act : {"1", "2", "3"}) {
    const std::string text = demo({"--act", act});
    CHECK(text.find(std::string("ACT ") + act) != std::string::npos);
    CHECK(text.find("ACT ") == text.rfind("ACT "));
    one_by_one += text.substr(0, text.size() - 1);
  }
  CHECK(one_by_one + "\n" == all);
}

TEST_CASE("cli demo: act 1 shows the worked row at three temperatures") {
  const nlohmann::json example = worked_example("saw-row");
  const std::vector<std::string> words = example.at("tokens");
  const auto lines = table_after(demo({"--act", "1"}), "word   score", words);
  for (std::size_t j = 0; j < words.size(); ++j) {
    std::vector<double> expected = {example.at("scores").at(j)};
    for (const nlohmann::json& row : example.at("rows")) {
      expected.push_back(row.at("weights_3_decimals").at(j));
    }
    CHECK(numbers_of(lines[j]) == expected);
  }
}

TEST_CASE("cli demo: act 2 shows the scores, the weights and their blend") {
  const nlohmann::json example = worked_example("french-keys");
  const std::vector<std::string> words = example.at("tokens");
  const std::string text = demo({"--act", "2"});
  const auto lines = table_after(text, "key    score", words);
  std::string blend;
  const std::vector<std::string> english = {"cat", "is", "under", "the", "table"};
  for (std::size_t j = 0; j < words.size(); ++j) {
    const std::vector<double> numbers = numbers_of(lines[j]);
    REQUIRE(numbers.size() >= 2);
    CHECK(numbers[0] == example.at("scores").at(j).get<double>());
    const double weight = example.at("rows").at(0).at("weights_3_decimals").at(j);
    CHECK(numbers[1] == weight);
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.3f", weight);
    blend += (j > 0 ? " + " : "") + std::string(buffer) + " " + english[j];
  }
  std::string words_in_line;  // the sentences, however they are broken into lines
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words_in_line += word + " ";
  CHECK(words_in_line.find(blend) != std::string::npos);
  CHECK(words_in_line.find("nearest to \"under\"") != std::string::npos);
}

TEST_CASE("cli demo: act 3 draws the weights of any head") {
  const Head head = GENERATE(Head{}, Head{0, 2}, Head{1, 8}, Head{3, 5, 2.0}, Head{2, 0, 0.3},
                             Head{5, 11, 1.0, true}, Head{4, 9, 0.5, true});
  INFO("layer " << head.layer << ", head " << head.head);
  const std::string text = demo(head.arguments());
  check_heat_map(text, head);
  for (const auto& [word, row] : {std::pair{"chased", 9}, {"climbed", 13}, {"tree", 15}}) {
    const std::string expected = strongest(head, row);
    const std::string start = std::string(word) + "  looks at  ";
    const std::size_t place = text.find(start);
    REQUIRE(place != std::string::npos);
    const std::string link = text.substr(place + start.size(), 40);
    INFO(link << " should start with " << expected);
    // "the (3rd) 27 %": which one of several is not compared.
    const std::string first_word = expected.substr(0, expected.find(' '));
    const std::string percent = expected.substr(expected.find(' '));
    CHECK(link.starts_with(first_word));
    CHECK(link.substr(0, link.find(" %") + 2).ends_with(percent));
  }
}

TEST_CASE("cli demo: act 3 shows the blend that the next layer reads") {
  for (const bool causal : {false, true}) {
    const Head head = {5, 11, 1.0, causal};
    const std::string text = demo(head.arguments());
    const reference::Row row = head.row(13);
    std::string expected = "(";
    for (std::size_t feature = 0; feature < 4; ++feature) {
      char buffer[32];
      std::snprintf(buffer, sizeof buffer, "%.3Lf, ", row.out[feature]);
      expected += buffer;
    }
    INFO(text << "\nexpected " << expected);
    CHECK(text.find(expected + "...)") != std::string::npos);
  }
}
