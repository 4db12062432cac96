// A case of the ONNX Attention operator as its folder holds it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/stored_array.hpp"

namespace lookback::test {

/// An array in C order, of any rank.
struct OnnxArray {
  Type type = Type::float32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  OnnxArray() = default;
  OnnxArray(Type type_, std::vector<std::int64_t> shape_);
  std::size_t elements() const { return bytes.size() / static_cast<std::size_t>(size_of(type)); }
  Real at(std::size_t index) const {
    return read_element(type, bytes.data() + index * static_cast<std::size_t>(size_of(type)));
  }
};

struct OnnxCase {
  std::string name;
  std::int64_t opset = 0;
  Type type = Type::float32;

  // Attributes; an absent one has its default.
  bool is_causal = false;
  std::optional<double> scale;
  double softcap = 0;  // 0: none
  std::int64_t q_num_heads = 0, kv_num_heads = 0;
  std::int64_t left_window_size = -1, right_window_size = -1;  // -1: open
  std::int64_t qk_matmul_output_mode = 0;

  std::map<std::string, OnnxArray> inputs, outputs;
  std::optional<std::vector<std::int64_t>> nonpad_kv_seqlen;
  double rtol = 0, atol = 0;

  const OnnxArray* input(const std::string& which) const;
  bool gives(const std::string& output) const { return outputs.count(output) > 0; }
};

/// Throws std::exception if the folder is not what its case.json says, or has an attribute that is
/// not known here.
OnnxCase read_onnx_case(const std::string& folder);

/// Where an answer differs by more than the case allows, by the name of the output; empty if
/// nowhere. worst becomes the largest difference of finite numbers, if it is larger.
std::string onnx_difference(const OnnxCase& c, const std::map<std::string, OnnxArray>& answers,
                            Real* worst = nullptr);

}  // namespace lookback::test
