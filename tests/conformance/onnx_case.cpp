#include "conformance/onnx_case.hpp"

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/npy_bytes.hpp"

namespace lookback::test {
namespace {

using nlohmann::json;

Type type_named(const std::string& name) {
  for (const Type type : {Type::float32, Type::bfloat16, Type::float16, Type::boolean})
    if (name == name_of(type)) return type;
  if (name == "bool") return Type::boolean;
  throw std::runtime_error("no type " + name);
}

/// How a type stands in a file.
std::string descr_of(const std::string& dtype) {
  if (dtype == "float32") return "<f4";
  if (dtype == "float16") return "<f2";
  if (dtype == "bfloat16") return "<u2";
  return dtype == "bool" ? "|b1" : "<i8";
}

NpyBytes read_checked(const std::string& folder, const json& entry) {
  const std::string path = folder + "/" + entry.at("file").get<std::string>();
  NpyBytes npy = read_npy_bytes(path);
  if (npy.descr != descr_of(entry.at("dtype")) ||
      npy.shape != entry.at("shape").get<std::vector<std::int64_t>>())
    throw std::runtime_error(path + " has another type or shape than case.json says");
  return npy;
}

OnnxArray read_array(const std::string& folder, const json& entry) {
  NpyBytes npy = read_checked(folder, entry);
  OnnxArray array;
  array.type = type_named(entry.at("dtype"));
  array.shape = std::move(npy.shape);
  array.bytes = std::move(npy.bytes);
  return array;
}

void set_attribute(OnnxCase& c, const std::string& name, const json& value) {
  if (name == "is_causal")
    c.is_causal = value.get<int>() != 0;
  else if (name == "scale")
    c.scale = value.get<double>();
  else if (name == "softcap")
    c.softcap = value.get<double>();
  else if (name == "q_num_heads")
    c.q_num_heads = value;
  else if (name == "kv_num_heads")
    c.kv_num_heads = value;
  else if (name == "left_window_size")
    c.left_window_size = value;
  else if (name == "right_window_size")
    c.right_window_size = value;
  else if (name == "qk_matmul_output_mode")
    c.qk_matmul_output_mode = value;
  else if (name != "softmax_precision")  // at least float32 here, whatever it says
    throw std::runtime_error(c.name + " has the unknown attribute " + name);
}

/// Two units in the last place of float16: its answers were rounded at every step.
Real tolerance_of(const OnnxCase& c, Type type, Real expected) {
  const Real rtol = type == Type::float16 ? std::max<Real>(c.rtol, 0x1p-9L) : c.rtol;
  const Real tolerance = c.atol + rtol * std::fabs(expected);
  return type == Type::float32 ? std::min(tolerance, Real(1e-6L)) : tolerance;
}

}  // namespace

OnnxArray::OnnxArray(Type type_, std::vector<std::int64_t> shape_)
    : type(type_), shape(std::move(shape_)) {
  std::int64_t count = size_of(type);
  for (const std::int64_t extent : shape) count *= extent;
  bytes.assign(static_cast<std::size_t>(count), std::byte{0xFF});
}

const OnnxArray* OnnxCase::input(const std::string& which) const {
  const auto found = inputs.find(which);
  return found == inputs.end() ? nullptr : &found->second;
}

OnnxCase read_onnx_case(const std::string& folder) {
  std::ifstream file(folder + "/case.json");
  const json description = json::parse(file);
  OnnxCase c;
  c.name = description.at("name");
  c.opset = description.at("opset");
  c.type = type_named(description.at("T1"));
  c.rtol = description.at("rtol");
  c.atol = description.at("atol");
  for (const auto& [name, value] : description.at("attributes").items())
    set_attribute(c, name, value);
  for (const auto& [name, entry] : description.at("inputs").items()) {
    if (name != "nonpad_kv_seqlen") {
      c.inputs[name] = read_array(folder, entry);
      continue;
    }
    const NpyBytes npy = read_checked(folder, entry);
    std::vector<std::int64_t> lengths(npy.bytes.size() / sizeof(std::int64_t));
    std::memcpy(lengths.data(), npy.bytes.data(), npy.bytes.size());
    c.nonpad_kv_seqlen = lengths;
  }
  for (const auto& [name, entry] : description.at("outputs").items())
    c.outputs[name] = read_array(folder, entry);
  return c;
}

std::string onnx_difference(const OnnxCase& c, const std::map<std::string, OnnxArray>& answers,
                            Real* worst) {
  std::string text;
  for (const auto& [name, expected] : c.outputs) {
    const auto found = answers.find(name);
    if (found == answers.end()) {
      text += name + " is not given ";
      continue;
    }
    const OnnxArray& actual = found->second;
    Difference difference;
    if (actual.shape != expected.shape) difference.note("the shape");
    if (actual.type != expected.type) difference.note("the type");
    for (std::size_t i = 0; i < std::min(actual.elements(), expected.elements()); ++i) {
      const Real a = actual.at(i), e = expected.at(i);
      difference.expect(close(a, e, tolerance_of(c, expected.type, e)), a, e, i);
      if (worst && std::isfinite(a) && std::isfinite(e))
        *worst = std::max(*worst, std::fabs(a - e));
    }
    if (!difference.text().empty()) text += name + ": " + difference.text() + ' ';
  }
  return text;
}

}  // namespace lookback::test
