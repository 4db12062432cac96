#include "align/browser.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <thread>

extern char** environ;

namespace lookback::cli {

bool open_in_browser(const std::string& path) {
  std::string opener = "xdg-open";
  std::string target = std::filesystem::absolute(path).string();
  const std::array<char*, 3> arguments = {opener.data(), target.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // What a browser has to say is nobody's business here.
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0);
  }
  pid_t child = -1;
  const int error =
      posix_spawnp(&child, opener.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return false;
  // Without a desktop the opener becomes the browser, and stays as long as that does.
  constexpr auto kPatience = std::chrono::seconds(2);
  constexpr auto kTurn = std::chrono::milliseconds(20);
  for (auto waited = kTurn; waited < kPatience; waited += kTurn) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    std::this_thread::sleep_for(kTurn);
  }
  return true;
}

}  // namespace lookback::cli
