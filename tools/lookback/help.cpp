#include "help.hpp"

#include "text.hpp"

namespace lookback::cli {

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode mode) const {
  const bool has_commands = !app->get_subcommands({}).empty();
  return app->get_description() + "\n\nUsage: " + (name.empty() ? app->get_name() : name) +
         " [OPTIONS]" + (has_commands ? " COMMAND" : "") + "\n" + make_groups(app, mode) +
         make_subcommands(app, mode) + "\n" + app->get_footer() + "\n";
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  constexpr std::size_t kName = 10;
  const std::string description = command->get_description();
  return "  " + pad_right(command->get_name(), kName) +
         description.substr(0, description.find('\n')) + "\n";
}

}  // namespace lookback::cli
