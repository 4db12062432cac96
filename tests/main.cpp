// The main of all tests under Catch2 2; Catch2 3 brings its own.
#define CATCH_CONFIG_MAIN
// A handler that formats a report can hang in a broken heap; ctest reports a crash well enough.
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#include <catch2/catch.hpp>
