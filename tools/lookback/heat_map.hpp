// An alignment matrix as text: rows look at columns.
#pragma once

#include <string>
#include <vector>

#include "alignment.hpp"
#include "terminal.hpp"

namespace lookback::cli {

/// In colour each cell is a shade with its percentage; without, a shade of ten characters.
std::string heat_map(const Style& style, const Matrix& weights,
                     const std::vector<std::string>& rows, const std::vector<std::string>& columns);

/// One column wide.
std::string shade_cell(const Style& style, double weight);

std::string heat_map_legend(const Style& style);

}  // namespace lookback::cli
