// The rest of what the tests are built from.
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "catch.hpp"
#include "support/array.hpp"
#include "support/guard.hpp"
#include "support/npy.hpp"
#include "support/random.hpp"

using namespace lookback::test;
using lookback::Extents;

namespace {

std::string npy_bytes(const std::string& dictionary, std::size_t data_bytes) {
  std::string header = dictionary + '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  return bytes + header + std::string(data_bytes, '\0');
}

/// The exit of a child that touches a byte: true if it was stopped for it.
bool touching_crashes(const std::byte* place) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    std::signal(SIGBUS, SIG_DFL);
    const volatile std::byte* touched = place;
    const std::byte read = *touched;
    _exit(read == std::byte{1} ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) || WEXITSTATUS(status) != 0;  // a sanitizer exits with a code
}

}  // namespace

TEST_CASE("support: an array keeps its elements in every layout, with NaN between them") {
  const Extents extent{2, 3, 4, 5};
  Array<float> plain(extent);
  float next = 0;
  plain.fill([&] { return next++; });
  for (const Layout layout : kLayouts) {
    Array<float> other = plain.with_layout(layout);
    INFO("layout " << static_cast<int>(layout));
    float expected = 0;
    bool equal = true;
    other.for_each_place([&](auto b, auto h, auto i, auto c) {
      equal = equal && other.at(b, h, i, c) == expected++;
    });
    CHECK(equal);
    std::size_t gaps = 0;
    for (const float x : other.storage()) gaps += x != x;
    CHECK(other.storage().size() == 120 + gaps);
  }
  CHECK(plain.with_layout(Layout::spread_features).storage().size() == 358);
}

TEST_CASE("support: a part of an array is a compact copy") {
  Array<double> whole({2, 2, 5, 3}, Layout::backwards);
  double next = 0;
  whole.fill([&] { return next++; });
  const Array<double> part = whole.part({1, 0, 2, 1}, {1, 2, 3, 2});
  CHECK(part.extent() == Extents{1, 2, 3, 2});
  CHECK(part.at(0, 1, 2, 1) == whole.at(1, 1, 4, 2));
  CHECK(part.view().stride == lookback::Strides{12, 6, 2, 1});
}

TEST_CASE("support: random numbers are the same everywhere") {
  Random random(0);
  CHECK(random.bits() == 0xE220A8397B1DCDAFu);
  CHECK(random.bits() == 0x6E789E6AA1B965F4u);
  for (int draw = 0; draw < 1000; ++draw) {
    const double x = random.unit();
    const auto n = random.integer(-3, 4);
    if (x < 0 || x >= 1 || n < -3 || n > 4) FAIL("out of range: " << x << ", " << n);
  }
}

TEST_CASE("support: the reader of .npy takes what it knows and refuses the rest") {
  const std::string path = "support_test.npy";
  const auto read = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return read_npy(path);
  };
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  CHECK(read(npy_bytes(good, 24)).shape == std::vector<std::int64_t>{2, 3});
  CHECK(read(npy_bytes(good, 24)).data.size() == 6);
  CHECK_THROWS_AS(read(npy_bytes(good, 20)), std::runtime_error);
  CHECK_THROWS_AS(read(npy_bytes(good, 28)), std::runtime_error);
  CHECK_THROWS_AS(read(npy_bytes(good, 24).substr(0, 30)), std::runtime_error);
  CHECK_THROWS_AS(read(""), std::runtime_error);
  CHECK_THROWS_AS(read("no numpy file at all"), std::runtime_error);
  for (const char* bad : {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }",
                          "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
                          "{'descr': '<f4', 'fortran_order': False, 'shape': (2, x), }",
                          "{'descr': '<f4', 'fortran_order': False, 'shape': (-2, -3), }",
                          "{'descr': '<f4', 'fortran_order': False, }"})
    CHECK_THROWS_AS(read(npy_bytes(bad, 24)), std::runtime_error);
  std::remove(path.c_str());
  CHECK_THROWS_AS(read_npy(path), std::runtime_error);
}

TEST_CASE("support: guarded memory is usable inside and forbidden on both sides") {
  for (const auto edge : {Guarded<float>::Edge::front, Guarded<float>::Edge::back}) {
    Guarded<float> guarded(1000, edge);
    guarded.data()[0] = 1;
    guarded.data()[999] = 2;
    CHECK(guarded.data()[0] + guarded.data()[999] == 3);
    CHECK(touching_crashes(guarded.page_before() + sysconf(_SC_PAGESIZE) - 1));
    CHECK(touching_crashes(guarded.page_after()));
    CHECK_FALSE(touching_crashes(reinterpret_cast<std::byte*>(guarded.data())));
  }
  Guarded<float> back(7, Guarded<float>::Edge::back);
  CHECK(reinterpret_cast<std::byte*>(back.data() + 7) == back.page_after());
}
