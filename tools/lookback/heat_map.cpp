#include "heat_map.hpp"

#include <algorithm>
#include <string_view>

#include "page.hpp"
#include "text.hpp"
#include "words.hpp"

namespace lookback::cli {
namespace {

constexpr std::size_t kCell = 4;  // "100 "
constexpr std::string_view kRamp = " .:-=+*#%@";
static_assert(kRamp.size() == Style::kShades);

std::string cell(const Style& style, float weight) {
  const int shade = shade_of(weight);
  if (!style.colour()) return std::string(kCell - 1, kRamp[static_cast<std::size_t>(shade)]) + " ";
  const std::string number = fixed(100.0 * weight, 0);
  return style.shaded(shade == 0 ? std::string(kCell, ' ') : pad_left(number, kCell - 1) + " ",
                      shade);
}

// The words over the columns, as steps: each word starts over its column, on the lowest line where
// it touches neither the word nor the stroke of a column to its right; a stroke leads down from it.
//
//     afternoon
//     |   finally
//     |   |   climbed
//     |   |   |   the tree
std::vector<std::string> steps(const std::vector<std::string>& words) {
  std::vector<std::u32string> lines;  // from the lowest up
  const std::size_t width = words.size() * kCell + 20;
  for (std::size_t column = words.size(); column-- > 0;) {
    const std::size_t start = column * kCell;
    const std::u32string word = characters_of(words[column]);
    const auto is_free = [&](const std::u32string& line) {
      const std::size_t next = line.find_first_not_of(U' ', start);
      return next == std::u32string::npos || next > start + word.size();
    };
    std::size_t level = 0;
    while (level < lines.size() && !is_free(lines[level])) ++level;
    if (level == lines.size()) lines.emplace_back(width, U' ');
    lines[level].replace(start, word.size(), word);
    for (std::size_t below = 0; below < level; ++below) lines[below][start] = U'|';
  }
  std::vector<std::string> text;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    line->erase(line->find_last_not_of(U' ') + 1);
    text.push_back(utf8_of(*line));
  }
  return text;
}

}  // namespace

std::string heat_map(const Style& style, const Matrix& weights,
                     const std::vector<std::string>& rows,
                     const std::vector<std::string>& columns) {
  std::size_t label = 0;
  for (const std::string& row : rows) label = std::max(label, characters_of(row).size());
  label += 2;

  std::string text;
  for (const std::string& line : steps(columns)) {
    // Words start one column in, over the middle of their cells.
    text += std::string(label + 2, ' ') + style.dim(line) + "\n";
  }
  for (std::int64_t i = 0; i < weights.rows; ++i) {
    std::string line = pad_left(rows[static_cast<std::size_t>(i)], label) + " ";
    for (std::int64_t j = 0; j < weights.columns; ++j) line += cell(style, weights.at(i, j));
    if (!style.colour()) line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string shade_cell(const Style& style, double weight) {
  const int shade = shade_of(weight);
  if (style.colour()) return style.shaded(" ", shade);
  return std::string(1, kRamp[static_cast<std::size_t>(shade)]);
}

std::string heat_map_legend(const Style& style) {
  std::string text;
  for (int shade = 0; shade < Style::kShades; ++shade) {
    // Without colour the first shade is a blank, which no legend can show.
    if (!style.colour() && shade == 0) continue;
    const std::string from = std::to_string(shade * shade);
    if (style.colour()) {
      text += style.shaded(pad_left(from, 3) + " ", shade);
    } else {
      text += std::string(1, kRamp[static_cast<std::size_t>(shade)]) + " " + from + "   ";
    }
  }
  return "  percent, from   " + text + (style.colour() ? "" : "(blank: less than 1)") + "\n";
}

}  // namespace lookback::cli
