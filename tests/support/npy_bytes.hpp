// Reads .npy version 1.0, little-endian, C order, of any element type that the test data uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lookback::test {

struct NpyBytes {
  std::string descr;  // "<f4", "<f2", "<u2", "|b1" or "<i8"
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};

/// Throws std::runtime_error with the path and the reason.
NpyBytes read_npy_bytes(const std::string& path);

}  // namespace lookback::test
