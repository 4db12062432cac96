// Error sentences put together from pieces, only when there is an error.
#pragma once

#include <charconv>
#include <sstream>
#include <string>

#include "lookback/error.hpp"
#include "lookback/tensor.hpp"

namespace lookback {

/// Extents or strides, to be printed as [1, 2, 3, 4].
struct ExtentsText {
  const Extents& extent;
};
inline ExtentsText text_of(const Extents& extent) {
  return {extent};
}

inline std::ostream& operator<<(std::ostream& text, ExtentsText x) {
  const Extents& e = x.extent;
  return text << '[' << e[0] << ", " << e[1] << ", " << e[2] << ", " << e[3] << ']';
}

template <class Piece>
void print(std::ostream& text, const Piece& piece) {
  text << piece;
}
/// The shortest digits that read back as the same number.
inline void print(std::ostream& text, double x) {
  char digits[32];
  text.write(digits, std::to_chars(digits, digits + sizeof digits, x).ptr - digits);
}

template <class... Pieces>
[[noreturn]] void fail(ErrorCode code, const Pieces&... pieces) {
  std::ostringstream text;
  (print(text, pieces), ...);
  throw Error(code, text.str());
}

template <class... Pieces>
void require(bool condition, const Pieces&... pieces) {
  if (!condition) [[unlikely]]
    fail(ErrorCode::invalid_argument, pieces...);
}

}  // namespace lookback
