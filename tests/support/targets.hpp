// Runs a check on every instruction set that this machine has.
#pragma once

#include <string>
#include <vector>

#include "catch.hpp"
#include "lookback/target.hpp"

namespace lookback::test {

/// Forces a target while it lives.
class TargetScope {
 public:
  explicit TargetScope(const std::string& name) : before_(active_target()) { set_target(name); }
  ~TargetScope() { set_target(before_); }
  TargetScope(const TargetScope&) = delete;
  TargetScope& operator=(const TargetScope&) = delete;

 private:
  std::string before_;
};

inline std::vector<Target> supported_targets() {
  std::vector<Target> found;
  for (const Target& target : targets())
    if (target.supported) found.push_back(target);
  return found;
}

/// check() with each supported target in use.
template <class F>
void on_every_target(F check) {
  for (const Target& target : supported_targets()) {
    INFO("target " << target.name);
    const TargetScope scope(target.name);
    REQUIRE(active_target() == target.name);
    check();
  }
}

}  // namespace lookback::test
