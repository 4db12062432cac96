// Numbers and words as columns of text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lookback::cli {

/// By characters of UTF-8, not bytes.
std::string pad_left(const std::string& text, std::size_t width);
std::string pad_right(const std::string& text, std::size_t width);

/// 0.257 for (0.25705, 3).
std::string fixed(double value, int decimals);
/// As short as it goes at six digits: 5, 1.5, 0.1.
std::string shortest(double value);
/// "33 %"; below half a percent "0 %".
std::string percent(double fraction);
/// "1 thread", "2 threads".
std::string count(std::int64_t n, const std::string& noun);

/// "340 us", "12.5 ms", "3.21 s".
std::string duration(double seconds);
/// "48 KiB", "1.5 MiB": powers of 1024.
std::string byte_size(double bytes);
/// "(12, 509, 32)", as NumPy writes a shape.
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace lookback::cli
