// Prints the target that a call would use, or why there is none.
#include <cstdio>

#include "lookback/lookback.hpp"

int main() {
  try {
    std::printf("%s\n", lookback::active_target().c_str());
  } catch (const lookback::Error& error) {
    const bool named = error.code() == lookback::ErrorCode::unsupported_target;
    std::printf("%s: %s\n", named ? "unsupported_target" : "another code", error.what());
  }
}
