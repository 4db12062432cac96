// An array of random numbers in [-1, 1), aligned to a cache line.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

namespace lookback::bench {

template <class T>
class Buffer {
 public:
  explicit Buffer(std::int64_t size, std::uint32_t seed = 1)
      : data_(static_cast<T*>(
            ::operator new(static_cast<std::size_t>(size) * sizeof(T), kAlignment))) {
    // A linear congruential generator: its high bits are random enough, and it keeps up with the
    // page faults of arrays of gigabytes.
    for (std::int64_t i = 0; i < size; ++i) {
      seed = seed * 1664525u + 1013904223u;
      data_.get()[i] =
          static_cast<T>(static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-31f);
    }
  }

  T* data() const { return data_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Delete {
    void operator()(T* data) const { ::operator delete(data, kAlignment); }
  };
  std::unique_ptr<T, Delete> data_;
};

}  // namespace lookback::bench
