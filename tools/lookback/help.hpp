// How `--help` looks.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace lookback::cli {

/// What a command says of itself and its examples appear as they are written: newer versions of
/// CLI11 would break the lines anew. In the list of commands, each shows its first line only.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};

}  // namespace lookback::cli
