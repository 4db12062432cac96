// A loop over tasks that several threads share, with progress and cancellation.
#pragma once

#include <atomic>
#include <cfenv>
#include <chrono>
#include <functional>
#include <thread>

#include "lookback/attend.hpp"

namespace lookback {

/// Tells the caller how far the call is; learns whether to go on.
class Progress {
 public:
  Progress(const std::function<bool(double)>& callback, double total_work)
      : callback_(callback), total_(total_work > 0 ? total_work : 1) {
    report(0);
  }

  /// From any thread. Calls back only on the calling thread, and only now and then.
  void add(double work);
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  /// At the end: reports 1, or throws Error (cancelled).
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void report(double fraction);

  const std::function<bool(double)>& callback_;
  const double total_;
  std::atomic<double> done_{0};
  std::atomic<bool> cancelled_{false};
  const std::thread::id caller_ = std::this_thread::get_id();
  Clock::time_point last_ = Clock::now();
};

/// While it lives, this thread has the default rounding and flushes no subnormals, whatever its
/// caller has set.
class DefaultFloatingPoint {
 public:
  DefaultFloatingPoint() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatingPoint() { std::fesetenv(&saved_); }
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

 private:
  std::fenv_t saved_;
};

/// Calls task(i) for every i in [0, n), in this order but on up to `workers` threads of the
/// caller's arena, in the default floating-point environment. Stops early when cancelled. An
/// exception from a task ends the loop and is passed on.
void for_each_task(std::int64_t n, int workers, Progress& progress,
                   const std::function<void(std::int64_t)>& task);

}  // namespace lookback
