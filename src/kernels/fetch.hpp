// Memory that is wanted soon, asked for while other work goes on. Decoding and short sequences wait
// for memory, so it should never rest, and never have so much to do that the work waits for it.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/simd.hpp"

namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA {

/// What comes after a block of keys, into L2: the next block of keys and values, or the start of
/// what comes after these rows. The hardware follows each page by itself and fetches four pages at
/// once faster than one, so each step asks for a line of four streams.
class BlockFetch {
 public:
  /// n_left: keys from `first` on. Features that do not lie side by side are left to the hardware.
  template <class T>
  static BlockFetch after(const RowBlock<T>& block, std::int64_t first, std::int64_t n_left) {
    const std::int64_t bytes =
        greater(block.d * size_of(block.keys.type), block.d_v * size_of(block.values.type));
    const bool plain = block.keys.feature_stride == 1 && block.values.feature_stride == 1;
    if (!plain || (n_left <= 0 && !block.ahead)) return {};
    if (n_left > 0) return of_keys(block.keys, block.values, first, n_left, bytes);
    const Ahead& a = *block.ahead;
    // Beside many keys the few queries do not count.
    if (a.n_keys > 4 * a.n_rows) return of_keys(a.keys, a.values, 0, a.n_keys, bytes);
    const Stream streams[] = {{a.keys, 0}, {a.values, 0}, {a.queries, 0}, {a.out, 0}};
    return {streams, smaller(kKeyBlock, greater(a.n_keys, a.n_rows)), bytes};
  }

  /// Steps in all.
  std::int64_t steps() const { return steps_; }

  /// How fast each of `calls` calls goes that together do a share of all.
  std::int64_t pace(std::int64_t percent, std::int64_t calls) const {
    return steps_ * kWholeStep * percent / 100 / greater(calls, 1) + 1;
  }

  // Inlined by force: a call would cost the sums of the work around it their registers.
  [[gnu::always_inline]] void fetch(std::int64_t pace) {
    due_ += pace;
    for (; due_ >= kWholeStep && rows_ > 0; due_ -= kWholeStep) {
      for (const Stream& s : streams_) prefetch(s.row + byte_);
      byte_ += kCacheLine;
      if (byte_ < row_end_) continue;
      byte_ = 0;
      --rows_;
      for (Stream& s : streams_) s.row += s.row_bytes;
    }
  }

 private:
  static constexpr std::int64_t kWholeStep = 1024;  // paces are fractions of it

  struct Stream {
    const char* row = nullptr;
    std::int64_t row_bytes = 0;

    Stream() = default;
    Stream(const Matrix& from, std::int64_t first)
        : row(static_cast<const char*>(from.data) + first * from.row_stride * size_of(from.type)),
          row_bytes(from.row_stride * size_of(from.type)) {}
  };

  BlockFetch() = default;
  BlockFetch(const Stream (&streams)[4], std::int64_t rows, std::int64_t row_end)
      : row_end_(row_end),
        rows_(row_end > 0 ? rows : 0),
        steps_(rows_ * (ceil_div(row_end_, kCacheLine))) {
    for (int i = 0; i < 4; ++i) streams_[i] = streams[i];
  }
  /// Both halves of keys and of values.
  static BlockFetch of_keys(const Matrix& keys, const Matrix& values, std::int64_t first,
                            std::int64_t n_left, std::int64_t row_end) {
    const std::int64_t half = (smaller(n_left, kKeyBlock) + 1) / 2;
    const Stream streams[] = {
        {keys, first}, {keys, first + half}, {values, first}, {values, first + half}};
    return {streams, half, row_end};
  }

  Stream streams_[4];
  std::int64_t row_end_ = 0, rows_ = 0, steps_ = 0, byte_ = 0, due_ = 0;
};

// All inlined by force: GCC takes a function that only prefetches for one that does nothing, and
// drops calls of it.
[[gnu::always_inline]] inline void fetch_bytes(const void* from, std::int64_t bytes) {
  if (bytes <= 0) return;
  const char* start = static_cast<const char*>(from);
  for (std::int64_t at = 0; at < bytes; at += kCacheLine) prefetch(start + at);
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
