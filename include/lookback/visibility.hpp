// Which keys a query row sees, and where it stands among them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "lookback/tensor.hpp"

namespace lookback {

/// Where query row i stands among the keys: p_i = i + offset. Every option that depends on position
/// (causal, window, ALiBi) uses it.
class Position {
 public:
  enum class Anchor : std::uint8_t { top_left, bottom_right, offset, per_sequence };

  /// offset 0: the first query stands at the first key.
  static constexpr Position top_left() { return {Anchor::top_left, 0, {}}; }
  /// offset n_k - n_q of each sequence: the last query stands at the last key, as in decoding with
  /// a cache. With lengths, n_k is the sequence's length.
  static constexpr Position bottom_right() { return {Anchor::bottom_right, 0, {}}; }
  /// Any offset; a negative one leaves the first rows before the first key.
  static constexpr Position at(std::int64_t offset) { return {Anchor::offset, offset, {}}; }
  /// One offset per sequence; the array must outlive the call.
  static constexpr Position per_sequence(std::span<const std::int64_t> offsets) {
    return {Anchor::per_sequence, 0, offsets};
  }

  constexpr Anchor anchor() const { return anchor_; }
  constexpr std::span<const std::int64_t> offsets() const { return offsets_; }
  /// Of a sequence with n_q queries and n_k keys; of the first or only one if none is named.
  constexpr std::int64_t offset(std::int64_t n_q, std::int64_t n_k) const {
    return offset(0, n_q, n_k);
  }
  constexpr std::int64_t offset(std::int64_t sequence, std::int64_t n_q, std::int64_t n_k) const {
    if (anchor_ == Anchor::bottom_right) return n_k - n_q;
    if (anchor_ == Anchor::per_sequence) return offsets_[static_cast<std::size_t>(sequence)];
    return offset_;
  }

 private:
  constexpr Position(Anchor anchor, std::int64_t offset, std::span<const std::int64_t> offsets)
      : anchor_(anchor), offset_(offset), offsets_(offsets) {}
  Anchor anchor_;
  std::int64_t offset_;
  std::span<const std::int64_t> offsets_;
};

/// Row i sees key j only if p_i - left <= j <= p_i + right; an absent side is open. Both count keys
/// beside the row's own, so {.left = 2, .right = 0} sees 3 keys: row 3 sees keys 1, 2 and 3.
struct Window {
  std::optional<std::int64_t> left = {};
  std::optional<std::int64_t> right = {};
};

/// A row sees a key only if their ids are equal. Each array holds [n] ids, or [B, n] contiguous, or
/// one per token of packed sequences. keys may be left out where n_q = n_k.
struct Documents {
  std::span<const std::int64_t> queries = {};
  std::optional<std::span<const std::int64_t>> keys = {};
};

/// A row sees a key only if visible[row / rows][key / keys]: boolean, [B, H, row blocks, key
/// blocks], broadcast from the right where an extent is 1. Rows count from 0 whatever their
/// position.
struct Blocks {
  Tensor visible;
  std::int64_t rows;
  std::int64_t keys;
};

}  // namespace lookback
