#include "page.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include "text.hpp"

namespace lookback::cli {
namespace {

std::vector<std::string> lines_of(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::string& line = lines.back();
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      lines.push_back(word);
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return lines;
}

}  // namespace

int shade_of(double weight) {
  const double level = std::sqrt(std::clamp(weight, 0.0, 1.0)) * Style::kShades;
  return std::min(static_cast<int>(level), Style::kShades - 1);
}

std::string heading(const Style& style, const std::string& label, const std::string& title) {
  return "\n" + style.accent(label) + "  " + style.bold(title) + "\n" +
         style.dim(std::string(kPageWidth, '-')) + "\n";
}

std::string paragraph(const std::string& text) {
  std::string result;
  for (const std::string& line : lines_of(text, kPageWidth - 2)) result += "  " + line + "\n";
  return result;
}

std::string definition(const Style& style, const std::string& word, const std::string& meaning) {
  constexpr std::size_t kColumn = 11;
  std::string result = "  " + style.bold(word) + std::string(kColumn - 2 - word.size(), ' ');
  std::string indent;
  for (const std::string& line : lines_of(meaning, kPageWidth - kColumn)) {
    result += indent + line + "\n";
    indent = std::string(kColumn, ' ');
  }
  return result;
}

std::string bar(const Style& style, double weight, std::size_t width) {
  const double columns = std::clamp(weight, 0.0, 1.0) * static_cast<double>(width);
  const auto filled = static_cast<std::size_t>(std::lround(columns));
  std::string rest(width - filled, ' ');
  if (filled == 0) return rest;
  if (style.colour()) {
    return style.shaded(std::string(filled, ' '), std::max(shade_of(weight), 3)) + rest;
  }
  return std::string(filled, '#') + rest;
}

}  // namespace lookback::cli
