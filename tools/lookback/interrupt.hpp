// Ctrl-C, polled: a signal sets a flag, and the work stops at the next safe place.
#pragma once

namespace lookback::cli {

/// While it lives, SIGINT, SIGTERM and SIGHUP no longer end the process but are remembered.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

bool interrupted();
/// Throws the Failure that ends the command (exit status 128 + signal) if interrupted().
void throw_if_interrupted();

}  // namespace lookback::cli
