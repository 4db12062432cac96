// The commands of `lookback`. Each adds itself, with its options and its help, to the parser.
#pragma once

#include <CLI/CLI.hpp>

namespace lookback::cli {

void add_demo(CLI::App& app);
void add_attend(CLI::App& app);
void add_align(CLI::App& app);
void add_info(CLI::App& app);

}  // namespace lookback::cli
