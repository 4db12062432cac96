// What a terminal sees and what a file gets; `lookback info`.
#include <algorithm>
#include <string>

#include "catch.hpp"
#include "lookback/target.hpp"
#include "process.hpp"

using namespace lookback::test;

namespace {

bool has_escapes(const std::string& text) {
  return text.find('\033') != std::string::npos;
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::size_t start = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    longest = std::max(longest, end - start);
    start = end + 1;
  }
  return longest;
}

}  // namespace

TEST_CASE("cli terminal: the demo is coloured on a terminal and plain in a file") {
  const Outcome plain = run({"demo"});
  CHECK(plain.status == 0);
  CHECK_FALSE(has_escapes(plain.out));
  CHECK(plain.out.find_first_not_of(
            "\n !\"#%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`"
            "abcdefghijklmnopqrstuvwxyz{|}~") == std::string::npos);
  CHECK(longest_line(plain.out) <= 100);

  Process::Setup on_terminal;
  on_terminal.out = Stream::terminal;
  const Outcome coloured = run({"demo"}, on_terminal);
  CHECK(coloured.status == 0);
  CHECK(coloured.out.find("\033[48;5;") != std::string::npos);
}

TEST_CASE("cli terminal: NO_COLOR and dumb terminals get no escape sequences") {
  for (const char* setting : {"NO_COLOR=1", "TERM=dumb", "TERM="}) {
    INFO(setting);
    Process::Setup setup;
    setup.out = Stream::terminal;
    setup.environment = {setting};
    const Outcome outcome = run({"demo"}, setup);
    CHECK(outcome.status == 0);
    CHECK_FALSE(has_escapes(outcome.out));
    CHECK(outcome.out.find("ACT 3") != std::string::npos);
  }
}

TEST_CASE("cli terminal: an empty NO_COLOR asks for nothing") {
  Process::Setup setup;
  setup.out = Stream::terminal;
  setup.environment = {"NO_COLOR="};
  CHECK(has_escapes(run({"demo"}, setup).out));
}

TEST_CASE("cli info: version, instruction sets, threads, caches, block sizes") {
  const Outcome outcome = run({"info"});
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "");
  INFO(outcome.out);
  for (const char* label : {"version", "instruction sets", "in use", "threads", "blocks"}) {
    CHECK(outcome.out.find(label) != std::string::npos);
  }
  for (const lookback::Target& target : lookback::targets()) {
    CHECK(outcome.out.find(target.name) != std::string::npos);
  }
  const lookback::BlockSizes blocks = lookback::block_sizes();
  CHECK(outcome.out.find(std::to_string(blocks.key_block) + " keys") != std::string::npos);
  CHECK(outcome.out.find(std::to_string(blocks.chunk) + " in a chunk") != std::string::npos);
}

TEST_CASE("cli info: LOOKBACK_ISA decides which instruction set is in use") {
  for (const lookback::Target& target : lookback::targets()) {
    if (!target.supported) continue;
    const Outcome outcome = run({"info"}, {{"LOOKBACK_ISA=" + target.name}});
    INFO(outcome.out);
    CHECK(outcome.status == 0);
    const std::size_t in_use = outcome.out.find("in use");
    REQUIRE(in_use != std::string::npos);
    const std::size_t line = outcome.out.rfind('\n', in_use) + 1;
    CHECK(outcome.out.substr(line, in_use - line).find(target.name) != std::string::npos);
  }
}
