// Conformance to the ONNX Attention operator, opset 23 to 25: every case through every path.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "catch.hpp"
#include "conformance/onnx_attention.hpp"
#include "support/chosen_path.hpp"
#include "support/every_path.hpp"
#include "support/npy.hpp"

using namespace lookback::test;
using nlohmann::json;

namespace {

using Answers = std::map<std::string, OnnxArray>;

json read_json(const std::string& name) {
  std::ifstream file(data_path("onnx-attention/" + name));
  return json::parse(file);
}

const std::vector<OnnxCase>& all_cases() {
  static const std::vector<OnnxCase> cases = [] {
    std::vector<OnnxCase> found;
    const json index = read_json("index.json");
    for (const json& entry : index.at("cases"))
      found.push_back(
          read_onnx_case(data_path("onnx-attention/" + entry.at("name").get<std::string>())));
    return found;
  }();
  return cases;
}

std::string answer_bits_difference(const Answers& a, const Answers& b) {
  Difference found;
  for (const auto& [name, array] : a)
    for (std::size_t i = 0; i < array.elements(); ++i) {
      const Real x = array.at(i), y = b.at(name).at(i);
      found.expect(close(x, y, 0), x, y, name, i);
    }
  return found.text();
}

struct Tried {
  int runs = 0;
  Real worst = 0;
};

/// Through every path; with a lead the few keys lie across the boundary of a chunk.
void try_every_path(const OnnxCase& c, std::int64_t lead, Tried& tried) {
  OnnxAttention attention(c, Reading::right, lead);
  SameBits<Answers> bits;
  for_every_path([&](const lookback::Target& target, int threads) {
    const Answers answers = attention.run(threads);
    CHECK(onnx_difference(c, answers, &tried.worst) == "");
    CHECK(bits.difference(target, answers, answer_bits_difference) == "");
    ++tried.runs;
  });
}

std::string automatic_path(const OnnxCase& c) {
  const OnnxAttention attention(c);
  const auto& extent = attention.q().extent;
  StoredArray out(c.type, {extent[0], extent[1], extent[2], attention.v().extent[3]});
  return chosen_path(attention.q(), attention.k(), attention.v(), {out.output()},
                     attention.options(), 2);
}

/// A reading that makes a call the engine refuses fails too.
bool fails(const OnnxCase& c, Reading reading) {
  try {
    return !onnx_difference(c, OnnxAttention(c, reading).run(1)).empty();
  } catch (const lookback::Error&) {
    return true;
  }
}

const char* answer_of_scores(const OnnxCase& c) {
  if (!c.gives("qk_matmul_output")) return "-";
  static constexpr const char* kModes[] = {"0 by a hook", "1 by a hook", "2 by a hook",
                                           "3 by values"};
  return kModes[c.qk_matmul_output_mode];
}

}  // namespace

TEST_CASE("onnx: all 93 cases, every output, through every path") {
  const auto& cases = all_cases();
  REQUIRE(cases.size() == 93);
  std::printf("%-72s %-5s %-8s %-9s %-11s %s %-8s%s\n", "case", "opset", "type", "automatic",
              "qk output", "paths", "worst", "given as");
  for (const OnnxCase& c : cases) {
    INFO(c.name);
    Tried tried;
    try_every_path(c, 0, tried);
    try_every_path(c, lookback::block_sizes().chunk - 2, tried);
    std::printf("%-72s %-5d %-8s %-9s %-11s %-5d %-8.1e%s\n", c.name.c_str(),
                static_cast<int>(c.opset), name_of(c.type), automatic_path(c).c_str(),
                answer_of_scores(c), tried.runs, static_cast<double>(tried.worst),
                OnnxAttention(c).mapping().c_str());
  }
  std::printf(
      "paths: automatic, many rows, few rows, either split over key chunks; each on every "
      "target with 1 and 2 threads, as given and across the boundary of a chunk\n");
}

TEST_CASE("onnx: outputs that wait for the alignment interface") {
  std::vector<std::string> waiting;
  for (const OnnxCase& c : all_cases())
    if (c.gives("qk_matmul_output") && c.qk_matmul_output_mode != 3)
      waiting.push_back(c.name + " (mode " + std::to_string(c.qk_matmul_output_mode) + ")");
  std::printf(
      "qk_matmul_output is scores, not weights, and read by a hook until the alignment "
      "interface gives it:\n");
  for (const std::string& name : waiting) std::printf("  %s\n", name.c_str());
  CHECK(waiting.size() == 12);
}

TEST_CASE("onnx: each wrong reading fails in the cases that traps.json names, and only there") {
  std::set<std::string> known;
  const json traps = read_json("traps.json");
  for (const json& entry : traps.at("readings")) {
    const std::string name = entry.at("wrong_reading");
    const auto named = std::find_if(kWrongReadings.begin(), kWrongReadings.end(),
                                    [&](const NamedReading& r) { return r.name == name; });
    INFO(name);
    REQUIRE(named != kWrongReadings.end());
    known.insert(name);
    const auto listed = entry.at("caught_by").get<std::set<std::string>>();
    std::set<std::string> caught;
    for (const OnnxCase& c : all_cases())
      if (fails(c, named->reading)) caught.insert(c.name);
    std::printf("%-75s caught by %zu\n", name.c_str(), caught.size());
    CHECK(caught == listed);
  }
  CHECK(known.size() == kWrongReadings.size());
}

TEST_CASE("onnx: the comparison notices a missing, a short and a changed answer") {
  for (const OnnxCase& c : all_cases()) {
    INFO(c.name);
    const Answers right = c.outputs;
    REQUIRE(onnx_difference(c, right) == "");
    for (const auto& [name, expected] : c.outputs) {
      Answers missing = right, changed = right, shorter = right, nan = right;
      missing.erase(name);
      CHECK(onnx_difference(c, missing) != "");
      shorter[name].shape.back() -= 1;
      CHECK(onnx_difference(c, shorter) != "");
      const auto place = [&](Answers& answers) { return answers[name].bytes.data(); };
      const Real first = expected.at(0);
      write_element(expected.type, place(changed), std::isfinite(first) ? first * 1.1L + 0.1L : 0);
      CHECK(onnx_difference(c, changed) != "");
      write_element(expected.type, place(nan), Real(NAN));
      CHECK(onnx_difference(c, nan) != "");
    }
  }
}
