// Memory that is wanted soon, asked for while other work goes on. Decoding waits for memory only,
// so memory should never rest, and never have so much to do that the work waits for it.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/simd.hpp"

namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA {

/// The keys and values of a block, into L2. The hardware follows each page by itself and fetches
/// four pages at once faster than one, so each step asks for a line of both halves of keys and of
/// values.
class BlockFetch {
 public:
  /// Features that do not lie side by side are left to the hardware.
  template <class T>
  BlockFetch(const RowBlock<T>& block, std::int64_t first, std::int64_t n_keys)
      : keys_(block.keys, first, n_keys),
        values_(block.values, first, n_keys),
        row_end_(
            greater(block.d * size_of(block.keys.type), block.d_v * size_of(block.values.type))),
        rows_(block.keys.feature_stride == 1 && block.values.feature_stride == 1
                  ? half(greater(n_keys, 0))
                  : 0),
        steps_(rows_ * ((row_end_ + kLine - 1) / kLine)) {}

  /// How fast each of `calls` calls goes that together do a share of all.
  std::int64_t pace(std::int64_t percent, std::int64_t calls) const {
    return steps_ * kWholeStep * percent / 100 / greater(calls, 1) + 1;
  }

  // Inlined by force: a call would cost the sums of the work around it their registers.
  [[gnu::always_inline]] void fetch(std::int64_t pace) {
    due_ += pace;
    while (due_ >= kWholeStep && rows_ > 0) {
      const std::int64_t end = smaller(row_end_, byte_ + due_ / kWholeStep * kLine);
      for (; byte_ < end; byte_ += kLine, due_ -= kWholeStep) {
        keys_.fetch(byte_);
        values_.fetch(byte_);
      }
      if (byte_ < row_end_) return;
      byte_ = 0;
      --rows_;
      keys_.next();
      values_.next();
    }
  }

 private:
  static constexpr std::int64_t kLine = 64;
  static constexpr std::int64_t kWholeStep = 1024;  // paces are fractions of it
  static std::int64_t half(std::int64_t n) { return (n + 1) / 2; }

  struct Halves {
    const char *low, *high;
    std::int64_t row_bytes;

    Halves(const Matrix& from, std::int64_t first, std::int64_t n)
        : low(static_cast<const char*>(from.data) + first * from.row_stride * size_of(from.type)),
          high(low + half(n) * from.row_stride * size_of(from.type)),
          row_bytes(from.row_stride * size_of(from.type)) {}
    void fetch(std::int64_t byte) const {
      prefetch(low + byte);
      prefetch(high + byte);
    }
    void next() {
      low += row_bytes;
      high += row_bytes;
    }
  };
  Halves keys_, values_;
  std::int64_t row_end_, rows_, steps_, byte_ = 0, due_ = 0;
};

// All inlined by force: GCC takes a function that only prefetches for one that does nothing, and
// drops calls of it.
[[gnu::always_inline]] inline void fetch_bytes(const void* from, std::int64_t bytes) {
  if (bytes <= 0) return;
  const char* start = static_cast<const char*>(from);
  for (std::int64_t at = 0; at < bytes; at += 64) prefetch(start + at);
  prefetch(start + bytes - 1);  // where it does not start with a line
}

/// A row's bias or mask for a block of keys from `first` on. Many rows, a little of each: no stream
/// that the hardware would follow.
template <class T>
[[gnu::always_inline]] inline void fetch_bias(const RowBlock<T>& block, std::int64_t row,
                                              std::int64_t first) {
  const Terms* terms = block.terms;
  if (!terms || !terms->has_bias || terms->bias_key_stride != 1) return;
  const std::int64_t size = size_of(terms->bias_type);
  fetch_bytes(static_cast<const char*>(terms->rows[row].bias) + first * size, kKeyBlock * size);
}
template <class T>
[[gnu::always_inline]] inline void fetch_mask(const RowBlock<T>& block, std::int64_t row,
                                              std::int64_t first) {
  const Visibility* visibility = block.visibility;
  if (!visibility || !visibility->has_mask || visibility->mask_key_stride != 1) return;
  fetch_bytes(visibility->rows[row].mask + first, kKeyBlock);
}

}  // namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA
