// qk_matmul_output of the ONNX Attention operator, opset 23 to 25, as rows of the alignment matrix:
// mode 0 scaled scores, 1 after the softcap, 2 after bias and masks, 3 weights. With it every case
// passes with every output.
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "catch.hpp"
#include "conformance/onnx_attention.hpp"
#include "lookback/align.hpp"
#include "support/npy.hpp"
#include "support/targets.hpp"

using namespace lookback::test;
using lookback::OutputTensor;
using lookback::Stage;
using lookback::Type;
using lookback::Views;

namespace {

constexpr Stage kStages[] = {Stage::scaled, Stage::capped, Stage::final, Stage::weights};

std::vector<OnnxCase> all_cases() {
  std::ifstream file(data_path("onnx-attention/index.json"));
  std::vector<OnnxCase> found;
  const auto index = nlohmann::json::parse(file);
  for (const auto& entry : index.at("cases")) {
    const auto name = entry.at("name").get<std::string>();
    found.push_back(read_onnx_case(data_path("onnx-attention/" + name)));
  }
  return found;
}

/// The output in Q's type, together with the context, from one call.
OnnxArray qk_matmul_output(const OnnxAttention& call, Stage stage, Type type, int threads) {
  const auto& q = call.q().extent;
  const std::int64_t n_k = call.k().extent[2];
  std::vector<std::int64_t> rows(static_cast<std::size_t>(q[2]));
  std::iota(rows.begin(), rows.end(), 0);
  StoredArray values(Type::float32, {q[0], q[1], q[2], n_k});
  StoredArray context(type, {q[0], q[1], q[2], call.v().extent[3]});
  Views views;
  views.rows = lookback::RowsView{rows, stage, values.output()};
  lookback::Options options = call.options();
  options.threads = threads;
  align(call.q(), call.k(), call.v(), context.output(), views, options);
  OnnxArray answer(type, {q[0], q[1], q[2], n_k});
  std::size_t at = 0;
  values.for_each_place([&](auto b, auto h, auto i, auto j) {
    write_element(type, answer.bytes.data() + at, values.at(b, h, i, j));
    at += static_cast<std::size_t>(lookback::size_of(type));
  });
  return answer;
}

}  // namespace

TEST_CASE("onnx: all 93 cases, with qk_matmul_output given by rows of the alignment matrix") {
  const auto cases = all_cases();
  REQUIRE(cases.size() == 93);
  int by_mode[4] = {};
  Real worst = 0;
  for (const OnnxCase& c : cases) {
    const auto mode = static_cast<std::size_t>(c.qk_matmul_output_mode);
    by_mode[mode] += c.gives("qk_matmul_output") ? 1 : 0;
    on_every_target([&] {
      for (const int threads : {1, 2}) {
        INFO(c.name << ", threads " << threads);
        OnnxAttention call(c);
        auto answers = call.run(threads);
        if (c.gives("qk_matmul_output")) {
          answers["qk_matmul_output"] = qk_matmul_output(call, kStages[mode], c.type, threads);
        }
        CHECK(answers.size() == c.outputs.size());
        CHECK(onnx_difference(c, answers, &worst) == "");
      }
    });
  }
  std::printf("qk_matmul_output: %d in mode 0, %d in 1, %d in 2, %d in 3; worst %.1e\n", by_mode[0],
              by_mode[1], by_mode[2], by_mode[3], static_cast<double>(worst));
  CHECK(by_mode[0] + by_mode[1] + by_mode[2] == 12);
  CHECK(by_mode[3] > 0);
}
