// Reads the test data: .npy version 1.0, little-endian float32, C order, and nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lookback::test {

struct Npy {
  std::vector<std::int64_t> shape;
  std::vector<float> data;
};

/// Throws std::runtime_error with the path and the reason.
Npy read_npy(const std::string& path);

/// The directory tests/data.
std::string data_path(const std::string& name);

}  // namespace lookback::test
