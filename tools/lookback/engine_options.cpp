#include "engine_options.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "failure.hpp"
#include "options.hpp"
#include "text.hpp"

namespace lookback::cli {
namespace {

Position position_of(const std::string& option, const std::string& text) {
  if (text == "top-left") return Position::top_left();
  if (text == "bottom-right") return Position::bottom_right();
  if (const std::optional<std::int64_t> offset = whole_number(text)) return Position::at(*offset);
  throw bad_usage(option + ": '" + text +
                  "' is neither top-left nor bottom-right nor a whole number (the offset)");
}

// "512,0"; a side left out is open, as in "512,".
Window window_of(const std::string& text) {
  const std::size_t comma = text.find(',');
  const auto side = [&](const std::string& part) -> std::optional<std::int64_t> {
    if (part.empty()) return std::nullopt;
    const std::optional<std::int64_t> keys = whole_number(part);
    if (keys && *keys >= 0) return keys;
    throw bad_usage("--window: '" + part + "' is not a number of keys");
  };
  if (comma == std::string::npos || text == ",") {
    throw bad_usage("--window: '" + text + "' is not LEFT,RIGHT, such as 512,0 or 512,");
  }
  return {side(text.substr(0, comma)), side(text.substr(comma + 1))};
}

// "0.5,0.25": all numbers, or nothing.
std::optional<std::vector<double>> numbers_in(const std::string& text) {
  std::vector<double> numbers;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string part = text.substr(start, end - start);
    char* stop = nullptr;
    numbers.push_back(std::strtod(part.c_str(), &stop));
    if (part.empty() || stop != part.c_str() + part.size()) return std::nullopt;
    start = end + 1;
  }
  return numbers;
}

std::vector<double> numbers_of_file(const std::string& option, const std::string& path) {
  if (!std::filesystem::exists(path)) {
    throw bad_usage(option + ": '" + path + "' is neither numbers like 0.5,0.25 nor a file");
  }
  const NpyArray array = read_npy(path);
  if (array.type == Type::float16 || array.shape.empty() || array.shape.size() > 2) {
    throw bad_usage(path + " holds " + name_of(array.type) + " of shape " +
                    shape_text(array.shape) +
                    "; float32 or float64 of shape (heads,) or (batch, heads) is needed");
  }
  const Tensor tensor = tensor_of(array);
  std::vector<double> numbers;
  for (std::int64_t b = 0; b < tensor.extent[2]; ++b) {
    for (std::int64_t h = 0; h < tensor.extent[3]; ++h) {
      const std::int64_t place = b * tensor.stride[2] + h * tensor.stride[3];
      numbers.push_back(array.type == Type::float32
                            ? static_cast<double>(static_cast<const float*>(tensor.data)[place])
                            : static_cast<const double*>(tensor.data)[place]);
    }
  }
  return numbers;
}

std::span<const double> load_numbers(const std::string& option, const std::string& text,
                                     EngineOptions& engine) {
  std::optional<std::vector<double>> numbers = numbers_in(text);
  if (!numbers) numbers = numbers_of_file(option, text);
  engine.numbers.push_back(std::make_unique<std::vector<double>>(*std::move(numbers)));
  return *engine.numbers.back();
}

const NpyArray& load(const std::string& path, Elements wanted, EngineOptions& engine) {
  engine.arrays.push_back(std::make_unique<NpyArray>(read_npy(path, wanted)));
  return *engine.arrays.back();
}

std::span<const std::int64_t> load_integers(const std::string& path, EngineOptions& engine) {
  const NpyArray& array = load(path, Elements::integers, engine);
  if (array.shape.size() != 1) {
    throw bad_usage(path + " has the shape " + shape_text(array.shape) +
                    "; a list, of shape (n,), is needed");
  }
  // Aligned by Buffer, and contiguous for want of another axis.
  const auto* data = static_cast<const std::int64_t*>(static_cast<const void*>(array.data));
  return {data, static_cast<std::size_t>(array.shape[0])};
}

Tensor load_matrix(const std::string& path, Elements wanted, EngineOptions& engine) {
  const NpyArray& array = load(path, wanted, engine);
  if (array.shape.size() <= 4) return tensor_of(array);
  throw bad_usage(path + " has the shape " + shape_text(array.shape) +
                  "; at most (batch, heads, n_q, n_k) is needed");
}

}  // namespace

std::vector<std::string> EngineChoice::files() const {
  std::vector<std::string> files;
  for (const auto* file : {&lengths, &mask, &bias, &alibi, &sinks, &packed_q, &packed_k}) {
    if (*file) files.push_back(**file);
  }
  return files;
}

EngineOptions parse_engine_options(const EngineChoice& choice) {
  EngineOptions engine;
  Options& options = engine.options;
  options.scale = choice.scale;
  options.temperature = choice.temperature;
  options.softcap = choice.softcap;
  if (choice.causal) {
    options.causal = true;
    options.position = position_of("--causal", *choice.causal);
  }
  if (choice.position) {
    if (choice.causal && *choice.causal != *choice.position) {
      throw bad_usage("--causal " + *choice.causal + " and --position " + *choice.position +
                      " say where the rows stand in two ways");
    }
    options.position = position_of("--position", *choice.position);
  }
  if (choice.window) options.window = window_of(*choice.window);
  options.prefix = choice.prefix;
  options.threads = choice.threads;
  return engine;
}

void load_engine_options(const EngineChoice& choice, EngineOptions& engine) {
  Options& options = engine.options;
  if (choice.lengths) options.lengths = load_integers(*choice.lengths, engine);
  if (choice.mask) options.mask = load_matrix(*choice.mask, Elements::booleans, engine);
  if (choice.bias) options.bias = load_matrix(*choice.bias, choice.elements(), engine);
  if (choice.alibi) options.alibi = load_numbers("--alibi", *choice.alibi, engine);
  if (choice.sinks) options.sinks = load_numbers("--sinks", *choice.sinks, engine);
  if (choice.packed_q) options.q_bounds = load_integers(*choice.packed_q, engine);
  if (choice.packed_k) options.k_bounds = load_integers(*choice.packed_k, engine);
}

Tensor tensor_of(const NpyArray& array) {
  Tensor tensor = {array.data, array.type, {1, 1, 1, 1}, {0, 0, 0, 0}};
  const std::size_t missing = tensor.extent.size() - array.shape.size();
  for (std::size_t axis = 0; axis < array.shape.size(); ++axis) {
    tensor.extent[missing + axis] = array.shape[axis];
    tensor.stride[missing + axis] = array.stride[axis];
  }
  return tensor;
}

}  // namespace lookback::cli
