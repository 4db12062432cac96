// Error sentences put together from pieces.
#pragma once

#include <sstream>
#include <string>

#include "lookback/error.hpp"
#include "lookback/tensor.hpp"

namespace lookback {

inline std::string text_of(const Extents& extent) {
  std::ostringstream text;
  text << '[' << extent[0] << ", " << extent[1] << ", " << extent[2] << ", " << extent[3] << ']';
  return text.str();
}

template <class... Pieces>
[[noreturn]] void fail(ErrorCode code, const Pieces&... pieces) {
  std::ostringstream text;
  text.precision(17);
  (text << ... << pieces);
  throw Error(code, text.str());
}

template <class... Pieces>
void require(bool condition, const Pieces&... pieces) {
  if (!condition) fail(ErrorCode::invalid_argument, pieces...);
}

}  // namespace lookback
