// Rows named on the command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lookback::cli {

/// The rows of "3,8-11,climbed", in that order. A word that is no number stands for every row that
/// has it. Throws Failure for what names no row.
std::vector<std::int64_t> which_rows(const std::string& text, const std::vector<std::string>& words,
                                     bool has_words);

}  // namespace lookback::cli
