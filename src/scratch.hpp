// Memory that a thread keeps between calls, so that only the first one allocates.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace lookback {

class Scratch {
 public:
  Scratch() = default;
  Scratch(Scratch&& other) noexcept
      : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
  Scratch& operator=(Scratch&& other) noexcept {
    memory_ = std::move(other.memory_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  /// At least this many elements, aligned to a cache line, with whatever was in them.
  template <class T>
  T* get(std::int64_t count) {
    return static_cast<T*>(grow(static_cast<std::size_t>(count) * sizeof(T)));
  }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  static constexpr std::size_t kAlignment = 64;

  void* grow(std::size_t bytes) {
    if (bytes > size_) {
      memory_.reset();
      size_ = 0;
      bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
      memory_.reset(std::aligned_alloc(kAlignment, bytes));
      if (!memory_) throw std::bad_alloc();
      size_ = bytes;
    }
    return memory_.get();
  }

  std::unique_ptr<void, Free> memory_;
  std::size_t size_ = 0;
};

}  // namespace lookback
