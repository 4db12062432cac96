// The header of an .npy file: what is in the array, before any of it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lookback/tensor.hpp"

namespace lookback::cli {

/// The header as written, checked for form but not for sense.
struct NpyHeader {
  std::string descr;  // NumPy's name of the element type, "<f4"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::size_t size = 0;  // in bytes, from the start of the file to the first element
};

/// No header that NumPy writes for a plain array comes near this.
inline constexpr std::size_t kMaxNpyHeader = std::size_t{64} << 10;

/// Parses formats 1.0, 2.0 and 3.0 from the first bytes of a file; kMaxNpyHeader of them always
/// suffice. Throws Failure with a sentence that starts with name.
///
/// xtensor's reader was the alternative; it notices neither a truncated file nor an absurd shape,
/// and demands one order of the keys.
NpyHeader parse_npy_header(std::span<const std::byte> bytes, const std::string& name);

/// NumPy's name of an element type; bfloat16 goes by that of its bits.
const char* descr_of(Type type);

/// The header, padded to 64 bytes as NumPy does, for an array in C order.
std::string npy_header_text(Type type, const std::vector<std::int64_t>& shape);

}  // namespace lookback::cli
