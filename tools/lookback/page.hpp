// The typography of the demo: headings, paragraphs, definitions and bars within 96 columns.
#pragma once

#include <string>

#include "terminal.hpp"

namespace lookback::cli {

inline constexpr std::size_t kPageWidth = 96;

/// Weights are shades on a square-root scale, for most of them are small: shade s starts at s * s
/// percent.
int shade_of(double weight);

std::string heading(const Style& style, const std::string& label, const std::string& title);
/// text broken into lines at its blanks, each indented by two columns.
std::string paragraph(const std::string& text);
/// A word and what it means, with the lines of the meaning in one column.
std::string definition(const Style& style, const std::string& word, const std::string& meaning);
/// A weight in [0, 1] as a bar of up to width columns, filled up with blanks.
std::string bar(const Style& style, double weight, std::size_t width);

}  // namespace lookback::cli
