#include "process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace lookback::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(60);

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("the test cannot ") + what);
}

/// Both ends of a pipe, or of a terminal; the child writes to the second.
std::array<int, 2> open_stream(Stream kind) {
  std::array<int, 2> ends{};
  if (kind == Stream::file) {
    require(pipe2(ends.data(), O_CLOEXEC) == 0, "make a pipe");
    return ends;
  }
  ends[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  require(ends[0] >= 0 && grantpt(ends[0]) == 0 && unlockpt(ends[0]) == 0, "make a terminal");
  ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
  require(ends[1] >= 0, "open its terminal");
  return ends;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// The environment of the tests with changes, and with a terminal that can do colours, whatever the
/// one is that runs them.
std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  const auto name_of = [](const std::string& entry) { return entry.substr(0, entry.find('=')); };
  std::vector<std::string> merged = changes;
  const auto add = [&](const std::string& entry) {
    const bool known = std::any_of(merged.begin(), merged.end(), [&](const std::string& other) {
      return name_of(other) == name_of(entry);
    });
    if (!known) merged.push_back(entry);
  };
  add("TERM=xterm-256color");
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (name_of(*entry) != "NO_COLOR") add(*entry);
  }
  return merged;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Reads what is there within the time; false at the end of the stream.
bool read_some(int descriptor, std::string& text, std::chrono::milliseconds time) {
  pollfd poller = {descriptor, POLLIN, 0};
  if (poll(&poller, 1, static_cast<int>(time.count())) <= 0) return true;
  std::array<char, 4096> buffer{};
  const ssize_t got = read(descriptor, buffer.data(), buffer.size());
  // A terminal whose other end is closed ends with an error.
  if (got <= 0) return false;
  text.append(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments, const Setup& setup) {
  std::vector<std::string> words = words_of(LOOKBACK_CLI_EMULATOR);
  words.emplace_back(LOOKBACK_CLI);
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment = environment_with(setup.environment);
  const std::vector<char*> argv = pointers_to(words);
  const std::vector<char*> envp = pointers_to(environment);

  const std::array<int, 2> out = open_stream(setup.out);
  const std::array<int, 2> err = open_stream(setup.err);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  const int error = posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  close(err[1]);
  out_ = out[0];
  err_ = err[0];
  require(error == 0, "start the command");
}

Process::~Process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(out_);
  close(err_);
}

bool Process::wait_until_it_catches_interrupts() const {
  const auto end = Clock::now() + kPatience;
  while (Clock::now() < end) {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (!line.starts_with("SigCgt:")) continue;
      const std::uint64_t caught = std::stoull(line.substr(7), nullptr, 16);
      if ((caught >> (SIGINT - 1) & 1) != 0) return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

bool Process::wait_until_error_shows(const std::string& text) {
  const auto end = Clock::now() + kPatience;
  while (err_text_.find(text) == std::string::npos) {
    if (Clock::now() >= end) return false;
    if (!read_some(err_, err_text_, std::chrono::milliseconds(50))) return false;
  }
  return true;
}

void Process::signal(int number) const {
  kill(pid_, number);
}

Outcome Process::wait() {
  bool out_open = true;
  bool err_open = true;
  while (out_open || err_open) {
    const auto turn = std::chrono::milliseconds(out_open && err_open ? 5 : 100);
    if (out_open) out_open = read_some(out_, out_text_, turn);
    if (err_open) err_open = read_some(err_, err_text_, turn);
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out_text_, err_text_};
}

Outcome run(const std::vector<std::string>& arguments, const Process::Setup& setup) {
  return Process(arguments, setup).wait();
}

bool is_emulated() {
  return !std::string(LOOKBACK_CLI_EMULATOR).empty();
}

Folder::Folder() {
  std::string pattern = (fs::temp_directory_path() / "lookback-test-XXXXXX").string();
  require(mkdtemp(pattern.data()) != nullptr, "make a directory");
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> Folder::list() const {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace lookback::test
