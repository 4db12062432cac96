// Catch2 2.13 (one header) or 3 (split headers); only what both have.
#pragma once

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <cstdio>
#include <string>

namespace lookback::test {

/// For a test that cannot run here. Catch2 2 cannot skip, so the test passes, and says why.
inline void skipped(const std::string& reason) {
  std::printf("skipped: %s\n", reason.c_str());
  SUCCEED("skipped: " << reason);
}

}  // namespace lookback::test
