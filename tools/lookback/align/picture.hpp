// The alignment map of one head as a picture with words and axes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lookback::cli {

/// Shares of the rows' weight, row by row, and the words of all rows and keys that they cover.
struct MapPicture {
  int rows, columns;
  std::vector<double> shares;
  const std::vector<std::string>& row_words;
  const std::vector<std::string>& column_words;
  std::string title;
};

/// A .png file. Where every row and column is one word, cells are big and hold their percentage;
/// otherwise the map has axes.
std::vector<std::byte> draw_map(const MapPicture& map);

}  // namespace lookback::cli
