// Views, positions, targets and errors: what needs no attention to be computed.
#include <cstdio>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "lookback/lookback.hpp"
#include "support/targets.hpp"

using namespace lookback;

namespace {

/// What a fresh process says of its target, with LOOKBACK_ISA set.
std::string target_with_environment(const std::string& isa) {
  const std::string command =
      "LOOKBACK_ISA='" + isa + "' " LOOKBACK_TEST_EMULATOR " '" LOOKBACK_TEST_PRINT_TARGET "' 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  pclose(pipe);
  return text;
}

}  // namespace

TEST_CASE("tensor: layouts name their strides") {
  const float x = 0;
  float y = 0;
  CHECK(heads_first(&x, 2, 3, 4, 5).stride == Strides{60, 20, 5, 1});
  CHECK(positions_first(&x, 2, 4, 3, 5).stride == Strides{60, 5, 15, 1});
  CHECK(positions_first(&x, 2, 4, 3, 5).extent == Extents{2, 3, 4, 5});
  CHECK(matrix(&x, 4, 5).extent == Extents{1, 1, 4, 5});
  CHECK(per_row(&y, 2, 3, 4).extent == Extents{2, 3, 4, 1});
  STATIC_REQUIRE(std::is_same_v<decltype(matrix(&x, 1, 1)), Tensor>);
  STATIC_REQUIRE(std::is_same_v<decltype(matrix(&y, 1, 1)), OutputTensor>);
  STATIC_REQUIRE(std::is_convertible_v<OutputTensor, Tensor>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<Tensor, OutputTensor>);
}

TEST_CASE("tensor: element types") {
  const double x = 0;
  CHECK(matrix(&x, 1, 1).type == Type::float64);
  CHECK(size_of(Type::float32) == 4);
  CHECK(size_of(Type::float64) == 8);
  CHECK(name_of(Type::float32) == std::string("float32"));
  CHECK(name_of(Type::float64) == std::string("float64"));
  CHECK(size_of(Type::bfloat16) == 2);
  CHECK(size_of(Type::float16) == 2);
  CHECK(size_of(Type::boolean) == 1);
  CHECK(size_of(Type::int64) == 8);
  CHECK(name_of(Type::bfloat16) == std::string("bfloat16"));
  CHECK(name_of(Type::float16) == std::string("float16"));
  CHECK(name_of(Type::boolean) == std::string("boolean"));
  CHECK(name_of(Type::int64) == std::string("int64"));
}

TEST_CASE("position: offsets of each kind, the explicit one negative too") {
  CHECK(Position::top_left().offset(2, 5) == 0);
  CHECK(Position::bottom_right().offset(2, 5) == 3);
  CHECK(Position::bottom_right().offset(5, 2) == -3);
  CHECK(Position::at(-7).offset(2, 5) == -7);
}

TEST_CASE("targets: listed best first, with the last one supported everywhere") {
  const auto all = targets();
  REQUIRE_FALSE(all.empty());
  CHECK(all.back().supported);
  std::set<std::string> names;
  for (std::size_t t = 0; t < all.size(); ++t) {
    CHECK(names.insert(all[t].name).second);
    CHECK(all[t].float32_lanes >= 4);
    if (t > 0) CHECK(all[t].float32_lanes <= all[t - 1].float32_lanes);
  }
  CHECK(names.count(active_target()) == 1);
}

TEST_CASE("targets: each supported one can be forced") {
  for (const Target& target : test::supported_targets()) {
    const test::TargetScope scope(target.name);
    CHECK(active_target() == target.name);
  }
}

TEST_CASE("targets: one that is not here is an error and changes nothing") {
  const std::string before = active_target();
  for (const std::string name : {"avx1024", "", "AVX2 "}) {
    INFO("target " << name);
    try {
      set_target(name);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::unsupported_target);
      CHECK(std::string(error.what()).find(name) != std::string::npos);
    }
  }
  for (const Target& target : targets())
    if (!target.supported) CHECK_THROWS_AS(set_target(target.name), Error);
  CHECK(active_target() == before);
}

TEST_CASE("targets: LOOKBACK_ISA forces each supported one") {
  for (const Target& target : test::supported_targets())
    CHECK(target_with_environment(target.name) == target.name + "\n");
}

TEST_CASE("targets: LOOKBACK_ISA naming one that is not here is a clear error") {
  const std::string text = target_with_environment("avx1024");
  INFO(text);
  CHECK(text.find("unsupported_target: ") == 0);
  CHECK(text.find("avx1024") != std::string::npos);
  CHECK(text.find("LOOKBACK_ISA") != std::string::npos);
}

TEST_CASE("version: three numbers") {
  int major = -1, minor = -1, patch = -1;
  char rest = 0;
  CHECK(std::sscanf(version(), "%d.%d.%d%c", &major, &minor, &patch, &rest) == 3);
  CHECK(std::string(version()) == LOOKBACK_TEST_VERSION);
}

TEST_CASE("error: carries its code and its sentence") {
  const Error error(ErrorCode::cancelled, "stopped");
  CHECK(error.code() == ErrorCode::cancelled);
  CHECK(error.what() == std::string("stopped"));
}
