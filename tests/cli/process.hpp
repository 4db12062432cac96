// The command as a process: started with arguments, read, signalled, waited for.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace lookback::test {

struct Outcome {
  int status = -1;  // what it returned; -1 if a signal ended it
  std::string out, err;
};

enum class Stream { file, terminal };

class Process {
 public:
  struct Setup {
    std::vector<std::string> environment = {};  // "NAME=value", in place of what is there
    Stream out = Stream::file;
    Stream err = Stream::file;
  };

  Process(const std::vector<std::string>& arguments, const Setup& setup);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Until it has its own handler for SIGINT; false if that takes unreasonably long.
  bool wait_until_it_catches_interrupts() const;
  /// Until its standard error shows this text; false if it ends or takes unreasonably long first.
  bool wait_until_error_shows(const std::string& text);
  void signal(int number) const;
  Outcome wait();

 private:
  int pid_ = -1;
  int out_ = -1, err_ = -1;  // what we read
  std::string out_text_, err_text_;
};

Outcome run(const std::vector<std::string>& arguments, const Process::Setup& setup = {});

/// The command cannot be signalled through an emulator as it can on the machine itself.
bool is_emulated();

/// A directory of its own for a test, removed with all it holds.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  /// Names, sorted.
  std::vector<std::string> list() const;

 private:
  std::string path_;
};

}  // namespace lookback::test
