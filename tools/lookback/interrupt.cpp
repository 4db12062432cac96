#include "interrupt.hpp"

#include <array>
#include <atomic>
#include <csignal>

#include "failure.hpp"

namespace lookback::cli {
namespace {

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};

// Any thread may be the one that a signal interrupts; a lock-free atomic is safe in a handler.
std::atomic<int> received_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);
std::array<struct sigaction, kSignals.size()> previous_actions;

}  // namespace

extern "C" {
static void remember_signal(int signal) {
  received_signal = signal;
}
}

InterruptGuard::InterruptGuard() {
  received_signal = 0;
  struct sigaction action = {};
  action.sa_handler = remember_signal;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &action, &previous_actions[i]);
    // A job started with nohup keeps running when its terminal goes away.
    if (kSignals[i] == SIGHUP && previous_actions[i].sa_handler == SIG_IGN) {
      sigaction(SIGHUP, &previous_actions[i], nullptr);
    }
  }
}

InterruptGuard::~InterruptGuard() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &previous_actions[i], nullptr);
  }
}

bool interrupted() {
  return received_signal != 0;
}

void throw_if_interrupted() {
  if (interrupted()) {
    throw Failure(kExitSignal + received_signal, "interrupted; nothing was written");
  }
}

}  // namespace lookback::cli
