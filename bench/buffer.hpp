// An array of random numbers, aligned to a cache line.
#pragma once

#include <bit>
#include <cstdint>
#include <lookback/tensor.hpp>
#include <memory>
#include <new>
#include <type_traits>

namespace lookback::bench {

/// In [-1, 1); float16 has a random sign and mantissa, and lies within 1/4 and 1/2.
template <class T>
T random_element(std::uint32_t seed) {
  const float x = static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-31f;
  if constexpr (std::is_same_v<T, bfloat16>) {
    return {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16)};
  } else if constexpr (std::is_same_v<T, float16>) {
    return {static_cast<std::uint16_t>((seed >> 16 & 0x83ff) | 0x3400)};
  } else {
    return static_cast<T>(x);
  }
}

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
      data_.get()[i] = random_element<T>(seed);
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
