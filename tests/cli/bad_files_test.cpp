// `lookback attend` on bad files: one sentence, status 2, and nothing written.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "npy_files.hpp"
#include "process.hpp"

using namespace lookback::test;

namespace {

/// q (5, 8), k (7, 8), v (7, 3), all well.
struct GoodFiles {
  Folder folder;

  GoodFiles() {
    write("q.npy", {5, 8}, 40);
    write("k.npy", {7, 8}, 56);
    write("v.npy", {7, 3}, 21);
  }
  void write(const std::string& name, const NpyShape& shape, std::size_t count) const {
    write_array(folder.path(name), shape, std::vector<float>(count, 0.5F));
  }
  std::vector<std::string> arguments(const std::string& out = "out.npy") const {
    return {"attend",
            "--q",
            folder.path("q.npy"),
            "--k",
            folder.path("k.npy"),
            "--v",
            folder.path("v.npy"),
            "--out",
            folder.path(out)};
  }
};

/// One line, which starts with the name of the command and holds every part.
void check_refused(const Outcome& outcome, const std::vector<std::string>& parts) {
  INFO(outcome.err);
  CHECK(outcome.status == 2);
  CHECK(outcome.out == "");
  CHECK(outcome.err.starts_with("lookback: "));
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
  for (const std::string& part : parts) {
    INFO("expected: " << part);
    CHECK(outcome.err.find(part) != std::string::npos);
  }
}

/// Puts bytes in the place of q and expects a sentence that names it.
void check_bad_q(const std::string& bytes, const std::string& problem) {
  const GoodFiles files;
  write_bytes(files.folder.path("q.npy"), bytes);
  const auto before = files.folder.list();
  check_refused(run(files.arguments()), {"q.npy", problem});
  CHECK(files.folder.list() == before);
}

std::string data_of(std::size_t bytes) {
  return std::string(bytes, '\0');
}

std::string good_q(std::size_t bytes = 160) {
  return npy_start(npy_dictionary("<f4", {5, 8})) + data_of(bytes);
}

}  // namespace

TEST_CASE("cli bad files: data that is not as long as the shape says") {
  check_bad_q(good_q(159), "truncated");
  check_bad_q(good_q(0), "truncated");
  check_bad_q(good_q(161), "too long");
}

TEST_CASE("cli bad files: empty, cut and foreign files") {
  const std::string good = good_q();
  check_bad_q("", "empty");
  for (const std::size_t length : {1U, 5U, 6U, 7U, 8U, 9U}) {
    INFO("length " << length);
    check_bad_q(good.substr(0, length), "first bytes");
  }
  check_bad_q(good.substr(0, 10), "truncated");
  check_bad_q(good.substr(0, 40), "truncated");
  check_bad_q("this is a letter, not an array", "mark of the format");
  check_bad_q(std::string(1000, '\0'), "mark of the format");
}

TEST_CASE("cli bad files: garbled headers") {
  const auto with = [](const std::string& dictionary) {
    return npy_start(dictionary) + data_of(160);
  };
  check_bad_q(with(""), "header");
  check_bad_q(with("garbage"), "header");
  check_bad_q(with("{'descr': '<f4', 'fortran_order': False, 'shape': (5, 8)"), "expected");
  check_bad_q(with("{'descr': '<f4', 'fortran_order': False}"), "'shape' is missing");
  check_bad_q(with("{'descr': '<f4', 'shape': (5, 8)}"), "'fortran_order' is missing");
  check_bad_q(with("{'fortran_order': False, 'shape': (5, 8)}"), "'descr' is missing");
  check_bad_q(with("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (5, 8)}"), "True");
  check_bad_q(with("{'descr': '<f4', 'fortran_order': False, 'shape': 40}"), "expected");
  check_bad_q(with("{'descr': '<f4', 'fortran_order': False, 'shape': (5, x)}"), "integers");
  check_bad_q(with("{'descr': '<f4', 'fortran_order': False, 'shape': (-5, -8)}"), "negative");
  check_bad_q(with("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (5, 8)}"),
              "twice");
  check_bad_q(with("{'descr': '<f4', 'fortran_order': False, 'shape': (5, 8), 'x\033[31m': 1}"),
              "unknown key 'x?[31m'");
  check_bad_q(with("{'descr': '<f4', 'fortran_order': False, 'shape': (5, 8)} and more"), "after");
}

TEST_CASE("cli bad files: header lengths and versions that cannot be") {
  std::string long_header = good_q();
  long_header[8] = long_header[9] = '\xff';
  check_bad_q(long_header, "65535");
  std::string longer = npy_start(npy_dictionary("<f4", {5, 8}), 2) + data_of(160);
  longer.replace(8, 4, "\xff\xff\xff\xff");
  check_bad_q(longer, "4294967295");
  check_bad_q(npy_start(npy_dictionary("<f4", {5, 8}), 4) + data_of(160), "version 4");
}

TEST_CASE("cli bad files: other element types") {
  const auto of_type = [](const std::string& descr, std::size_t bytes) {
    return npy_start(npy_dictionary(descr, {5, 8})) + data_of(bytes);
  };
  check_bad_q(of_type("<i8", 320), "int64");
  check_bad_q(of_type("<u2", 80), "uint16");
  check_bad_q(of_type("|b1", 40), "bool");
  check_bad_q(of_type("<c8", 320), "complex64");
  check_bad_q(of_type(">f4", 160), "big-endian float32");
  check_bad_q(of_type(">f8", 320), "big-endian float64");
  check_bad_q(of_type("<f16", 640), "float128");
  check_bad_q(of_type("|O", 320), "float32 or float64");
  check_bad_q(npy_start("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (5, 8)}") +
                  data_of(160),
              "fields");
}

TEST_CASE("cli bad files: absurd sizes") {
  const auto claiming = [](const NpyShape& shape, std::size_t bytes) {
    return npy_start(npy_dictionary("<f4", shape)) + data_of(bytes);
  };
  constexpr std::int64_t kBillion = 1'000'000'000;
  check_bad_q(claiming({kBillion, kBillion}, 160), "truncated");
  check_bad_q(claiming({kBillion * kBillion, 8}, 160), "64-bit");
  check_bad_q(claiming({INT64_MAX, INT64_MAX}, 160), "64-bit");
  check_bad_q(claiming({INT64_MAX, INT64_MAX, 0}, 0), "64-bit");
  // Without elements the file is as long as it should be, but has too many positions to attend.
  check_bad_q(claiming({kBillion * kBillion, 0}, 0), "memory");
  check_bad_q(npy_start("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, "
                        "8)}") +
                  data_of(160),
              "64 bits");
}

TEST_CASE("cli bad files: a file as long as it says, but longer than memory") {
  const GoodFiles files;
  constexpr std::int64_t kRows = std::int64_t{1} << 38;  // 8 TiB of zeros that take no disk
  const std::string q = files.folder.path("q.npy");
  const std::string start = npy_start(npy_dictionary("<f4", {kRows, 8}));
  write_bytes(q, start);
  const off_t length = static_cast<off_t>(start.size()) + kRows * 32;
  if (truncate(q.c_str(), length) != 0) {
    skipped("the file system of the temporary directory takes no sparse file of 8 TiB");
    return;
  }
  check_refused(run(files.arguments()), {"q.npy", "memory"});
}

TEST_CASE("cli bad files: ranks") {
  check_bad_q(npy_start(npy_dictionary("<f4", {40})) + data_of(160), "(40,)");
  check_bad_q(npy_start(npy_dictionary("<f4", {})) + data_of(4), "()");
  check_bad_q(npy_start(npy_dictionary("<f4", {1, 1, 1, 5, 8})) + data_of(160), "(1, 1, 1, 5, 8)");
  check_bad_q(npy_start(npy_dictionary("<f4", {1, 5, 8})) + data_of(160), "one rank");
}

TEST_CASE("cli bad files: arrays that do not fit each other") {
  const GoodFiles files;
  const auto refuses = [&](const std::vector<std::string>& parts) {
    const auto before = files.folder.list();
    check_refused(run(files.arguments()), parts);
    CHECK(files.folder.list() == before);
  };
  SECTION("v is shorter than k") {
    files.write("v.npy", {6, 3}, 18);
    refuses({"v has 6 positions but k has 7"});
  }
  SECTION("k has other features than q") {
    files.write("k.npy", {7, 9}, 63);
    refuses({"k has 9 features but q has 8"});
  }
  SECTION("two types") {
    write_array(files.folder.path("k.npy"), {7, 8}, std::vector<double>(56));
    refuses({"float64", "float32"});
  }
}

TEST_CASE("cli bad files: inputs that are no files") {
  const GoodFiles files;
  std::filesystem::remove(files.folder.path("q.npy"));
  SECTION("missing") {
    check_refused(run(files.arguments()), {"q.npy", "No such file or directory"});
  }
  SECTION("a directory") {
    std::filesystem::create_directory(files.folder.path("q.npy"));
    check_refused(run(files.arguments()), {"q.npy", "it is a directory"});
  }
  SECTION("a pipe that nobody writes to") {
    REQUIRE(mkfifo(files.folder.path("q.npy").c_str(), 0600) == 0);
    check_refused(run(files.arguments()), {"q.npy", "not a plain file"});
  }
}

TEST_CASE("cli bad files: places where no result can go") {
  const GoodFiles files;
  const auto before = files.folder.list();
  check_refused(run(files.arguments("no/out.npy")), {"no/out.npy", "no directory"});
  check_refused(run(files.arguments("q.npy")), {"q.npy", "also an input"});
  check_refused(run(files.arguments("./v.npy")), {"v.npy", "also an input"});
  check_refused(run(files.arguments("")), {"not the name of a file"});
  auto with_lse = files.arguments();
  with_lse.insert(with_lse.end(), {"--lse", files.folder.path("./out.npy")});
  check_refused(run(with_lse), {"--out and --lse name the same file"});
  with_lse.back() = files.folder.path("no/lse.npy");
  check_refused(run(with_lse), {"no/lse.npy", "no directory"});
  with_lse.back() = files.folder.path("k.npy");
  check_refused(run(with_lse), {"--lse", "k.npy", "also an input"});
  CHECK(files.folder.list() == before);

  std::filesystem::create_directory(files.folder.path("out.npy"));
  check_refused(run(files.arguments()), {"out.npy", "it is a directory"});
}

TEST_CASE("cli bad files: a result that was there before is not touched") {
  const GoodFiles files;
  write_bytes(files.folder.path("out.npy"), "precious");
  write_bytes(files.folder.path("q.npy"), good_q(159));
  CHECK(run(files.arguments()).status == 2);
  CHECK(read_bytes(files.folder.path("out.npy")) == "precious");
}
