#include "text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace lookback::cli {
namespace {

std::string print(const char* format, int precision, double value) {
  std::array<char, 400> buffer{};  // the longest double printed with %f has 309 digits
  std::snprintf(buffer.data(), buffer.size(), format, precision, value);
  return buffer.data();
}

// What is missing to the width, in blanks. All bytes but the first of a character are 10xxxxxx.
std::string padding(const std::string& text, std::size_t width) {
  const auto is_first = [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
  };
  const auto has = static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_first));
  return std::string(width > has ? width - has : 0, ' ');
}

}  // namespace

std::string pad_left(const std::string& text, std::size_t width) {
  return padding(text, width) + text;
}

std::string pad_right(const std::string& text, std::size_t width) {
  return text + padding(text, width);
}

std::string fixed(double value, int decimals) {
  return print("%.*f", decimals, value);
}

std::string shortest(double value) {
  return print("%.*g", 6, value);
}

std::string percent(double fraction) {
  return fixed(100 * fraction, 0) + " %";
}

std::string count(std::int64_t n, const std::string& noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

std::string duration(double seconds) {
  if (seconds < 1e-3) return print("%.*f us", 0, seconds * 1e6);
  if (seconds < 1) return print("%.*g ms", 3, seconds * 1e3);
  if (seconds < 100) return print("%.*g s", 3, seconds);
  return print("%.*f s", 0, seconds);
}

std::string byte_size(double bytes) {
  constexpr std::array<const char*, 7> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  const bool whole = bytes == std::floor(bytes) || bytes >= 100;
  return fixed(bytes, whole ? 0 : 1) + " " + kUnits[unit];
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    text += (axis > 0 ? ", " : "") + std::to_string(shape[axis]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace lookback::cli
