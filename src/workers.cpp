#include "workers.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <cfenv>

#include "message.hpp"

namespace lookback {
namespace {

constexpr std::chrono::milliseconds kReportEvery{50};

/// The default rounding and no flushing of subnormals, whatever the caller has set.
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

}  // namespace

void Progress::report(double fraction) {
  if (callback_ && !callback_(fraction)) cancel();
}

void Progress::add(double work) {
  if (!callback_) return;
  const double done = done_.fetch_add(work, std::memory_order_relaxed) + work;
  if (std::this_thread::get_id() != caller_ || cancelled()) return;
  const auto now = Clock::now();
  if (now - last_ < kReportEvery) return;
  last_ = now;
  report(done < total_ ? done / total_ : 1);
}

void Progress::finish() {
  if (!cancelled()) report(1);
  if (cancelled()) {
    fail(ErrorCode::cancelled, "progress asked to cancel the call; the outputs are not to be used");
  }
}

void for_each_task(std::int64_t n, int workers, Progress& progress,
                   const std::function<void(std::int64_t)>& task) {
  std::atomic<std::int64_t> next{0};
  const auto work = [&](int) {
    const DefaultFloatingPoint environment;
    try {
      for (std::int64_t i; (i = next.fetch_add(1)) < n && !progress.cancelled();) task(i);
    } catch (...) {
      next.store(n);
      throw;
    }
  };
  if (workers <= 1 || n <= 1) {
    work(0);
  } else {
    // One loop per worker, all taking tasks from one counter: limits the threads without an arena
    // of our own, and starts the tasks in order.
    // Isolated: while it waits, this thread takes up nothing but this loop's work.
    tbb::this_task_arena::isolate(
        [&] { tbb::parallel_for(0, workers, work, tbb::simple_partitioner{}); });
  }
}

}  // namespace lookback
