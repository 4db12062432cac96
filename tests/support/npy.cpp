#include "support/npy.hpp"

#include <bit>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace lookback::test {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw std::runtime_error(path + ": " + why);
}

/// What stands between the text before and the text after it.
std::string between(const std::string& header, const std::string& before, const std::string& after,
                    const std::string& path) {
  const auto start = header.find(before);
  if (start == std::string::npos) refuse(path, "the header has no " + before);
  const auto from = start + before.size();
  const auto end = header.find(after, from);
  if (end == std::string::npos) refuse(path, "the header is cut after " + before);
  return header.substr(from, end - from);
}

std::vector<std::int64_t> parse_shape(const std::string& text, const std::string& path) {
  std::vector<std::int64_t> shape;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t used = 0;
    long long extent = -1;
    try {
      extent = std::stoll(text.substr(at), &used);
    } catch (const std::exception&) {
      refuse(path, "the shape is no list of numbers");
    }
    if (extent < 0) refuse(path, "an extent is negative");
    shape.push_back(extent);
    at = text.find_first_not_of(", ", at + used);
  }
  return shape;
}

}  // namespace

Npy read_npy(const std::string& path) {
  static_assert(std::endian::native == std::endian::little);
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(path, "cannot be opened");
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  constexpr std::size_t kPrefix = 10;
  if (bytes.size() < kPrefix || bytes.compare(0, 8, std::string("\x93NUMPY\x01\x00", 8)) != 0)
    refuse(path, "is no .npy of version 1.0");
  const auto low = static_cast<unsigned char>(bytes[8]),
             high = static_cast<unsigned char>(bytes[9]);
  const std::size_t start = kPrefix + low + 256u * high;
  if (bytes.size() < start) refuse(path, "the header is cut");
  const std::string header = bytes.substr(kPrefix, start - kPrefix);
  if (between(header, "'descr': '", "'", path) != "<f4") refuse(path, "is not float32");
  if (between(header, "'fortran_order': ", ",", path) != "False") refuse(path, "is not C order");

  Npy npy{parse_shape(between(header, "'shape': (", ")", path), path), {}};
  std::size_t count = 1;
  for (const std::int64_t extent : npy.shape) count *= static_cast<std::size_t>(extent);
  if (bytes.size() - start != count * sizeof(float)) refuse(path, "its size is not its shape's");
  npy.data.resize(count);
  bytes.copy(reinterpret_cast<char*>(npy.data.data()), count * sizeof(float), start);
  return npy;
}

std::string data_path(const std::string& name) {
  return LOOKBACK_TEST_DATA "/" + name;
}

}  // namespace lookback::test
