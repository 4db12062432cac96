#include "support/npy_bytes.hpp"

#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <stdexcept>

namespace lookback::test {
namespace {

std::size_t size_of_descr(const std::string& descr) {
  return static_cast<std::size_t>(descr[2] - '0');
}

}  // namespace

NpyBytes read_npy_bytes(const std::string& path) {
  static_assert(std::endian::native == std::endian::little);
  const auto refuse = [&](const char* why) { throw std::runtime_error(path + ": " + why); };
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse("cannot be opened");
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  constexpr std::size_t kPrefix = 10;
  if (content.compare(0, 8, std::string("\x93NUMPY\x01\x00", 8)) != 0 || content.size() < kPrefix)
    refuse("is no .npy of version 1.0");
  const auto length =
      static_cast<unsigned char>(content[8]) + 256u * static_cast<unsigned char>(content[9]);
  const std::size_t start = kPrefix + length;
  if (content.size() < start) refuse("the header is cut");
  const std::string header = content.substr(kPrefix, length);
  static const std::regex kHeader(
      R"(\{'descr': '(<f4|<f2|<u2|\|b1|<i8)', 'fortran_order': False, 'shape': \(([0-9, ]*)\), \}\s*)");
  std::smatch found;
  if (!std::regex_match(header, found, kHeader)) refuse("has another type or order");

  NpyBytes npy{found[1], {}, {}};
  const std::string extents = found[2];
  static const std::regex kNumber("[0-9]+");
  std::size_t count = size_of_descr(npy.descr);
  for (std::sregex_iterator at(extents.begin(), extents.end(), kNumber), end; at != end; ++at) {
    npy.shape.push_back(std::stoll(at->str()));
    count *= static_cast<std::size_t>(npy.shape.back());
  }
  if (content.size() - start != count) refuse("its size is not its shape's");
  npy.bytes.resize(count);
  if (count > 0) std::memcpy(npy.bytes.data(), content.data() + start, count);
  return npy;
}

}  // namespace lookback::test
