// `lookback attend` on good files: what it writes are the engine's bits.
#include <filesystem>
#include <string>
#include <vector>

#include "catch.hpp"
#include "npy_files.hpp"
#include "process.hpp"
#include "support/npy.hpp"
#include "support/problem.hpp"

using namespace lookback::test;
using lookback::Position;

namespace {

/// The last axes of [B, H, n, d], as many as the rank has.
NpyShape shape_of_rank(const lookback::Extents& extent, std::size_t rank) {
  return {extent.end() - static_cast<std::ptrdiff_t>(rank), extent.end()};
}

template <class T>
struct Files {
  Folder folder;
  NpyShape out_shape, lse_shape;

  Files(const Problem<T>& problem, std::size_t rank) {
    const auto write = [&](const char* name, const Array<T>& array) {
      write_array(folder.path(name), shape_of_rank(array.extent(), rank), elements_of(array));
    };
    write("q.npy", problem.q);
    write("k.npy", problem.k);
    write("v.npy", problem.v);
    lse_shape = shape_of_rank(problem.q.extent(), rank);
    lse_shape.pop_back();
    out_shape = lse_shape;
    out_shape.push_back(problem.v.extent(3));
  }

  Outcome attend(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"attend"};
    for (const std::string name : {"q", "k", "v", "out", "lse"}) {
      arguments.push_back("--" + name);
      arguments.push_back(folder.path(name + ".npy"));
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
};

template <class T>
void check_same_as_engine(const Problem<T>& problem, std::size_t rank,
                          const std::vector<std::string>& more = {}) {
  const Files<T> files(problem, rank);
  const Outcome outcome = files.attend(more);
  CHECK(outcome.err == "");
  REQUIRE(outcome.status == 0);
  const Result<T> expected = problem.run();
  CHECK(data_bytes(read_array<T>(files.folder.path("out.npy"), files.out_shape)) ==
        data_bytes(elements_of(expected.out)));
  CHECK(data_bytes(read_array<T>(files.folder.path("lse.npy"), files.lse_shape)) ==
        data_bytes(elements_of(expected.lse)));
  CHECK(files.folder.list() ==
        std::vector<std::string>{"k.npy", "lse.npy", "out.npy", "q.npy", "v.npy"});
}

Shape shape_for_rank(std::size_t rank) {
  Shape shape = {5, 7, 8, 3, 1, 1, 1};
  if (rank >= 3) shape.H = 4, shape.H_kv = 2;
  if (rank >= 4) shape.B = 3;
  return shape;
}

}  // namespace

TEMPLATE_TEST_CASE("cli attend: files of every rank give the engine's bits", "", float, double) {
  for (const std::size_t rank : {2U, 3U, 4U}) {
    INFO("rank " << rank);
    check_same_as_engine(random_problem<TestType>(shape_for_rank(rank), test_seed()), rank);
  }
}

TEST_CASE("cli attend: every option reaches the engine") {
  Problem<float> problem = random_problem<float>({5, 9, 8, 4}, test_seed());
  SECTION("scale and temperature") {
    problem.options.scale = -0.25;
    problem.options.temperature = 0.5;
    check_same_as_engine(problem, 2, {"--scale", "-0.25", "--temperature", "0.5"});
  }
  SECTION("a scale of 1 is the unscaled form") {
    problem.options.scale = 1;
    check_same_as_engine(problem, 2, {"--scale", "1"});
  }
  SECTION("causal, top-left") {
    problem.options = causal_at(Position::top_left());
    check_same_as_engine(problem, 2, {"--causal", "top-left"});
  }
  SECTION("causal, bottom-right") {
    problem.options = causal_at(Position::bottom_right());
    check_same_as_engine(problem, 2, {"--causal", "bottom-right"});
  }
  SECTION("causal, an offset that leaves rows without a key") {
    problem.options = causal_at(Position::at(-2));
    check_same_as_engine(problem, 2, {"--causal", "-2"});
    check_same_as_engine(problem, 2, {"--causal=-2"});
  }
  SECTION("one thread") {
    check_same_as_engine(problem, 2, {"--threads", "1"});
  }
}

TEST_CASE("cli attend: Fortran order, other versions and other spellings are read") {
  const Problem<float> problem = random_problem<float>({5, 7, 8, 3}, test_seed());
  const Files<float> files(problem, 2);
  REQUIRE(files.attend().status == 0);
  const std::string expected = read_bytes(files.folder.path("out.npy"));
  const std::string data = data_bytes(elements_of(problem.q));

  std::vector<float> columns;
  for (std::int64_t c = 0; c < 8; ++c) {
    for (std::int64_t i = 0; i < 5; ++i) columns.push_back(problem.q.at(0, 0, i, c));
  }
  const std::string other_spelling =
      "{\"shape\": (5, 8), \"fortran_order\": False, \"descr\": \"<f4\"}";
  const std::vector<std::pair<const char*, std::string>> ways = {
      {"Fortran order", npy_start(npy_dictionary("<f4", {5, 8}, true)) + data_bytes(columns)},
      {"version 2", npy_start(npy_dictionary("<f4", {5, 8}), 2) + data},
      {"version 3", npy_start(npy_dictionary("<f4", {5, 8}), 3) + data},
      {"another order, other quotes, no last comma", npy_start(other_spelling) + data}};
  for (const auto& [way, q] : ways) {
    INFO(way);
    write_bytes(files.folder.path("q.npy"), q);
    const Outcome outcome = files.attend();
    CHECK(outcome.err == "");
    CHECK(outcome.status == 0);
    CHECK(read_bytes(files.folder.path("out.npy")) == expected);
    std::filesystem::remove(files.folder.path("out.npy"));
  }
}

TEST_CASE("cli attend: sizes of zero") {
  SECTION("no queries") {
    check_same_as_engine(random_problem<float>({0, 7, 8, 3}, 1), 2);
  }
  SECTION("no keys") {
    check_same_as_engine(random_problem<float>({5, 0, 8, 3}, 1), 2);
  }
  SECTION("no value features") {
    check_same_as_engine(random_problem<float>({5, 7, 8, 0}, 1), 2);
  }
}

TEST_CASE("cli attend: the report names shapes, time and speed") {
  const Files<float> files(random_problem<float>(shape_for_rank(4), test_seed()), 4);
  const Outcome outcome = files.attend();
  REQUIRE(outcome.status == 0);
  for (const char* part : {"q    (3, 4, 5, 8)", "k    (3, 2, 7, 8)", "v    (3, 2, 7, 3)",
                           "out  (3, 4, 5, 3)", "lse  (3, 4, 5)", "float32 on ", "GFLOP/s"}) {
    INFO(part << " in\n" << outcome.out);
    CHECK(outcome.out.find(part) != std::string::npos);
  }
}

TEST_CASE("cli attend: an existing result is replaced, and a link to it stays a link") {
  const Files<float> files(random_problem<float>({5, 7, 8, 3}, test_seed()), 2);
  const std::string real = files.folder.path("real.npy");
  write_bytes(real, "old");
  std::filesystem::create_symlink("real.npy", files.folder.path("out.npy"));
  REQUIRE(files.attend().status == 0);
  CHECK(std::filesystem::is_symlink(files.folder.path("out.npy")));
  CHECK(read_array<float>(real, {5, 3}).size() == 15);
}

TEST_CASE("cli attend: one head of a real sentence of 509 tokens") {
  const auto head_of = [](const char* name, std::size_t head) {
    const Npy all = read_npy(data_path(std::string("minilm/long/") + name));
    const std::size_t size = all.data.size() / 12;
    const auto first = all.data.begin() + static_cast<std::ptrdiff_t>(head * size);
    return std::vector<float>(first, first + static_cast<std::ptrdiff_t>(size));
  };
  constexpr std::size_t kHead = 7;
  const Folder folder;
  for (const std::string name : {"q.npy", "k.npy", "v.npy"}) {
    write_array(folder.path(name), {509, 32}, head_of(name.c_str(), kHead));
  }
  for (const bool causal : {false, true}) {
    std::vector<std::string> arguments = {"attend",
                                          "--q",
                                          folder.path("q.npy"),
                                          "--k",
                                          folder.path("k.npy"),
                                          "--v",
                                          folder.path("v.npy"),
                                          "--out",
                                          folder.path("out.npy"),
                                          "--lse",
                                          folder.path("lse.npy")};
    if (causal) arguments.insert(arguments.end(), {"--causal", "top-left"});
    REQUIRE(run(arguments).status == 0);
    const char* out = causal ? "out_causal.npy" : "out.npy";
    const char* lse = causal ? "lse_causal.npy" : "lse.npy";
    CHECK(difference(read_array<float>(folder.path("out.npy"), {509, 32}), head_of(out, kHead),
                     1e-5L) == "");
    CHECK(difference(read_array<float>(folder.path("lse.npy"), {509}), head_of(lse, kHead),
                     1e-5L) == "");
  }
}
