// Ctrl-C during a long call: status 130, one sentence, and no file, whole or half.
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "npy_files.hpp"
#include "process.hpp"

using namespace lookback::test;

namespace {

/// So many keys that one thread is busy for many seconds on any machine.
struct LongRun {
  Folder folder;
  std::vector<std::string> arguments = {"attend", "--threads", "1"};

  LongRun() {
    constexpr std::int64_t kRows = 200'000;
    for (const std::string name : {"q", "k", "v"}) {
      write_array(folder.path(name + ".npy"), {kRows, 8}, std::vector<float>(kRows * 8, 0.5F));
      add("--" + name, name);
    }
    add("--out", "out");
    add("--lse", "lse");
  }
  void add(const std::string& option, const std::string& name) {
    arguments.push_back(option);
    arguments.push_back(folder.path(name + ".npy"));
  }
};

const std::vector<std::string> kInputsOnly = {"k.npy", "q.npy", "v.npy"};
const std::string kSentence = "lookback: interrupted; nothing was written\n";

}  // namespace

TEST_CASE("cli interrupt: a signal ends a long run and leaves no file") {
  if (is_emulated()) return skipped("an emulator answers signals itself");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    INFO("signal " << signal);
    const LongRun work;
    Process process(work.arguments, {});
    REQUIRE(process.wait_until_it_catches_interrupts());
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    process.signal(signal);
    const Outcome outcome = process.wait();
    CHECK(outcome.status == 128 + signal);
    CHECK(outcome.out == "");
    CHECK(outcome.err == kSentence);
    CHECK(work.folder.list() == kInputsOnly);
  }
}

TEST_CASE("cli interrupt: an earlier result survives") {
  if (is_emulated()) return skipped("an emulator answers signals itself");
  const LongRun work;
  write_bytes(work.folder.path("out.npy"), "precious");
  Process process(work.arguments, {});
  REQUIRE(process.wait_until_it_catches_interrupts());
  process.signal(SIGINT);
  CHECK(process.wait().status == 130);
  CHECK(read_bytes(work.folder.path("out.npy")) == "precious");
}

TEST_CASE("cli interrupt: a terminal sees progress after a second, and a clean line at the end") {
  if (is_emulated()) return skipped("an emulator answers signals itself");
  const LongRun work;
  Process::Setup setup;
  setup.err = Stream::terminal;
  Process process(work.arguments, setup);
  REQUIRE(process.wait_until_error_shows(" %"));
  process.signal(SIGINT);
  const Outcome outcome = process.wait();
  CHECK(outcome.status == 130);
  CHECK(outcome.err.starts_with("\r["));
  CHECK(outcome.err.ends_with("\r\033[Klookback: interrupted; nothing was written\r\n"));
  CHECK(work.folder.list() == kInputsOnly);
}
