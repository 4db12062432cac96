// Arrays as files for the command, and as tensors for the engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catch.hpp"
#include "cli/npy_files.hpp"
#include "cli/process.hpp"
#include "lookback/lookback.hpp"
#include "support/random.hpp"

namespace lookback::test {

using Arguments = std::vector<std::string>;

/// Numbers of a type that NumPy names, in C order.
template <class T>
struct FileArray {
  NpyShape shape;
  std::vector<T> data;

  /// Axes that the shape lacks are in front.
  Tensor tensor() const {
    Extents extent = {1, 1, 1, 1};
    std::copy(shape.rbegin(), shape.rend(), extent.rbegin());
    const auto [B, H, n, d] = extent;
    return {data.data(), type_of<T>(), extent, {H * n * d, n * d, d, 1}};
  }
  void write(const std::string& path, const std::string& descr) const {
    write_bytes(path, npy_start(npy_dictionary(descr, shape)) + data_bytes(data));
  }
};

inline std::size_t size_of_shape(const NpyShape& shape) {
  std::int64_t size = 1;
  for (const std::int64_t extent : shape) size *= extent;
  return static_cast<std::size_t>(size);
}

inline FileArray<float> random_array(const NpyShape& shape, Random& random) {
  FileArray<float> array = {shape, std::vector<float>(size_of_shape(shape))};
  for (float& number : array.data) number = static_cast<float>(random.normal());
  return array;
}

template <class T>
FileArray<T> list_of(const std::vector<T>& numbers) {
  return {{static_cast<std::int64_t>(numbers.size())}, numbers};
}

inline Arguments operator+(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// One sentence on standard error and status 2.
inline void check_refused(const Arguments& arguments, const std::string& part) {
  const Outcome outcome = run(arguments);
  INFO(outcome.err);
  CHECK(outcome.status == 2);
  CHECK(outcome.out == "");
  CHECK(outcome.err.starts_with("lookback: "));
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
  INFO("expected: " << part);
  CHECK(outcome.err.find(part) != std::string::npos);
}

}  // namespace lookback::test
