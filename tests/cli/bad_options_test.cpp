// Arguments that make no sense: one sentence, status 2, and nothing written.
#include <string>
#include <vector>

#include "catch.hpp"
#include "npy_files.hpp"
#include "process.hpp"

using namespace lookback::test;

namespace {

using Arguments = std::vector<std::string>;

void check_refused(const Outcome& outcome, const std::string& part) {
  INFO(outcome.err);
  CHECK(outcome.status == 2);
  CHECK(outcome.out == "");
  CHECK(outcome.err.starts_with("lookback: "));
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
  INFO("expected: " << part);
  CHECK(outcome.err.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("cli options: attend refuses values that cannot be") {
  const Folder folder;
  write_array(folder.path("q.npy"), {5, 8}, std::vector<float>(40, 0.5F));
  write_array(folder.path("k.npy"), {7, 8}, std::vector<float>(56, 0.5F));
  write_array(folder.path("v.npy"), {7, 3}, std::vector<float>(21, 0.5F));
  const auto before = folder.list();
  const auto refuses = [&](const Arguments& more, const std::string& part) {
    Arguments arguments = {"attend",
                           "--q",
                           folder.path("q.npy"),
                           "--k",
                           folder.path("k.npy"),
                           "--v",
                           folder.path("v.npy"),
                           "--out",
                           folder.path("out.npy")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    check_refused(run(arguments), part);
    CHECK(folder.list() == before);
  };
  refuses({"--scale", "nan"}, "scale is nan");
  refuses({"--scale", "inf"}, "scale is inf");
  refuses({"--scale", "abc"}, "--scale: 'abc'");
  refuses({"--scale", ""}, "--scale: ''");
  refuses({"--scale", "0.5x"}, "--scale: '0.5x'");
  refuses({"--scale"}, "--scale");
  refuses({"--temperature", "0"}, "temperature is 0");
  refuses({"--temperature", "-1"}, "temperature is -1");
  refuses({"--temperature", "nan"}, "temperature is nan");
  refuses({"--temperature", "warm"}, "--temperature: 'warm'");
  refuses({"--threads", "0"}, "--threads: '0'");
  refuses({"--threads", "-2"}, "--threads: '-2'");
  refuses({"--threads", "1.5"}, "--threads: '1.5'");
  refuses({"--threads", "99999999999"}, "--threads: '99999999999'");
  refuses({"--causal", "sideways"}, "--causal: 'sideways'");
  refuses({"--causal", "1.5"}, "--causal: '1.5'");
  refuses({"--causal", "99999999999999999999"}, "--causal: '99999999999999999999'");
  refuses({"--causal"}, "--causal");
  refuses({"--frobnicate"}, "--frobnicate");
  refuses({"extra"}, "extra");
  refuses({"--q", folder.path("k.npy")}, "--q");
}

TEST_CASE("cli options: offsets at the edge of 64 bits are legal") {
  const Folder folder;
  for (const char* name : {"q.npy", "k.npy", "v.npy"}) {
    write_array(folder.path(name), {3, 2}, std::vector<float>(6, 0.5F));
  }
  const auto out_at = [&](const std::string& offset) {
    const Outcome outcome =
        run({"attend", "--q", folder.path("q.npy"), "--k", folder.path("k.npy"), "--v",
             folder.path("v.npy"), "--out", folder.path("out.npy"), "--causal", offset});
    CHECK(outcome.status == 0);
    return read_array<float>(folder.path("out.npy"), {3, 2});
  };
  CHECK(out_at("9223372036854775807") == std::vector<float>(6, 0.5F));
  CHECK(out_at("-9223372036854775808") == std::vector<float>(6, 0.0F));
}

TEST_CASE("cli options: what is required") {
  check_refused(run({}), "which command?");
  check_refused(run({"attend"}), "--q is required");
  check_refused(run({"attend", "--q", "q.npy"}), "--k is required");
  check_refused(run({"attend", "--q", "q.npy", "--k", "k.npy", "--v", "v.npy"}),
                "--out is required");
}

TEST_CASE("cli options: unknown commands and options") {
  check_refused(run({"frobnicate"}), "frobnicate");
  check_refused(run({"--frobnicate"}), "--frobnicate");
  check_refused(run({"demo", "--frobnicate"}), "--frobnicate");
  check_refused(run({"demo", "attend"}), "attend");
  check_refused(run({"info", "more"}), "more");
}

TEST_CASE("cli options: demo refuses heads and acts that there are not") {
  check_refused(run({"demo", "--layer", "6"}), "--layer: '6'");
  check_refused(run({"demo", "--layer", "-1"}), "--layer: '-1'");
  check_refused(run({"demo", "--head", "12"}), "--head: '12'");
  check_refused(run({"demo", "--head", "one"}), "--head: 'one'");
  check_refused(run({"demo", "--act", "4"}), "--act: '4'");
  check_refused(run({"demo", "--temperature", "0"}), "temperature is 0");
  check_refused(run({"demo", "--temperature", "nan"}), "temperature is nan");
}

TEST_CASE("cli options: an instruction set that is not here") {
  check_refused(run({"info"}, {{"LOOKBACK_ISA=abacus"}}), "abacus");
  check_refused(run({"demo"}, {{"LOOKBACK_ISA=abacus"}}), "abacus");
}

TEST_CASE("cli options: help and version") {
  const auto shows = [](const Arguments& arguments, const Arguments& parts) {
    const Outcome outcome = run(arguments);
    CHECK(outcome.status == 0);
    CHECK(outcome.err == "");
    for (const std::string& part : parts) {
      INFO("expected: " << part << "\nin\n" << outcome.out);
      CHECK(outcome.out.find(part) != std::string::npos);
    }
  };
  shows({"--help"}, {"demo", "attend", "info", "--version"});
  shows({"-h"}, {"demo", "attend", "info"});
  shows({"demo", "--help"},
        {"--act", "--layer", "--head", "--temperature", "--causal", "Examples"});
  shows({"attend", "--help"}, {"--q", "--k", "--v", "--out", "--lse", "--scale", "--temperature",
                               "--causal", "--threads", "Examples"});
  shows({"info", "--help"}, {"LOOKBACK_ISA"});
  shows({"--version"}, {"lookback " LOOKBACK_CLI_VERSION});
}
