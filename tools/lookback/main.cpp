// The command `lookback`: reads the arguments, runs one command, and turns every failure into one
// sentence on standard error and an exit status.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "commands.hpp"
#include "failure.hpp"
#include "help.hpp"
#include "lookback/error.hpp"
#include "lookback/target.hpp"

namespace lookback::cli {
namespace {

int report(int status, std::string sentence) {
  std::replace(sentence.begin(), sentence.end(), '\n', ' ');
  std::fprintf(stderr, "lookback: %s\n", sentence.c_str());
  return status;
}

int status_of(ErrorCode code) {
  const bool callers = code == ErrorCode::invalid_argument || code == ErrorCode::unsupported_target;
  return callers ? kExitUsage : kExitFailed;
}

void describe(CLI::App& app) {
  app.name("lookback");
  app.description(
      "Exact attention on the CPU: score, softmax, blend, streamed, so that the alignment matrix\n"
      "never exists.");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", std::string("lookback ") + version(), "Show the version");
  app.set_help_flag("-h,--help", "Show this help");
  app.footer(
      "Start with 'lookback demo'. Then 'lookback COMMAND --help' teaches each command.\n"
      "Exit status: 0 done; 1 failed; 2 something given was wrong; 130 ended by Ctrl-C.");
  app.require_subcommand(0, 1);  // with none, run() has a better sentence
  add_demo(app);
  add_attend(app);
  add_align(app);
  add_info(app);
}

// Where to read on, after an argument that the parser refused.
std::string hint(const CLI::App& app) {
  std::string command = "lookback";
  for (const CLI::App* chosen : app.get_subcommands()) command += " " + chosen->get_name();
  return " ('" + command + " --help' says more)";
}

int run(int argc, char** argv) {
  CLI::App app;
  describe(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and the version are not errors.
    if (error.get_exit_code() == 0) return app.exit(error);
    return report(kExitUsage, error.what() + hint(app));
  }
  if (app.get_subcommands().empty()) {
    return report(kExitUsage,
                  "which command? demo, attend, align or info; 'lookback --help' says more");
  }
  // Standard output may be a full disk.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    return report(kExitFailed, "cannot write to standard output");
  return 0;
}

int run_and_report(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Failure& failure) {
    return report(failure.status(), failure.what());
  } catch (const Error& error) {
    return report(status_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return report(kExitFailed, "there is not enough memory");
  } catch (const std::exception& error) {
    return report(kExitFailed, error.what());
  }
}

}  // namespace
}  // namespace lookback::cli

int main(int argc, char** argv) {
  return lookback::cli::run_and_report(argc, argv);
}
