// What the parser of options lacks: checks that say what was given and what would do.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace lookback::cli {

/// All of text as a decimal number with an optional sign; nothing if it is not, or exceeds 64 bits.
std::optional<std::int64_t> whole_number(const std::string& text);

/// Checks of the text of an option, before it becomes a number. The engine judges the value.
CLI::Validator is_number();
CLI::Validator is_whole_number(std::int64_t lowest, std::int64_t highest);

}  // namespace lookback::cli
