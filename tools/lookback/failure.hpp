// How a command ends when it cannot do what was asked.
#pragma once

#include <stdexcept>
#include <string>

namespace lookback::cli {

inline constexpr int kExitFailed = 1;  // the machine's fault: memory, a full disk
inline constexpr int kExitUsage = 2;   // the caller's: an option, a file, what they hold together
// A command ended by signal s exits with 128 + s, as shells report it: 130 for Ctrl-C.
inline constexpr int kExitSignal = 128;

/// what() is one sentence for standard error; main() prints it and exits with status().
class Failure : public std::runtime_error {
 public:
  Failure(int status, const std::string& sentence)
      : std::runtime_error(sentence), status_(status) {}
  int status() const noexcept { return status_; }

 private:
  int status_;
};

/// A failure that the caller can mend.
inline Failure bad_usage(const std::string& sentence) {
  return {kExitUsage, sentence};
}

}  // namespace lookback::cli
