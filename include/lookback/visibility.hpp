// Which keys a query row sees, and where it stands among them.
#pragma once

#include <cstdint>

namespace lookback {

/// Where query row i stands among the keys: p_i = i + offset. Every option that depends on position
/// (causal) uses it.
class Position {
 public:
  enum class Anchor : std::uint8_t { top_left, bottom_right, offset };

  /// offset 0: the first query stands at the first key.
  static constexpr Position top_left() { return {Anchor::top_left, 0}; }
  /// offset n_k - n_q: the last query stands at the last key, as in decoding with a cache.
  static constexpr Position bottom_right() { return {Anchor::bottom_right, 0}; }
  /// Any offset; a negative one leaves the first rows before the first key.
  static constexpr Position at(std::int64_t offset) { return {Anchor::offset, offset}; }

  constexpr std::int64_t offset(std::int64_t n_q, std::int64_t n_k) const {
    return anchor_ == Anchor::bottom_right ? n_k - n_q : offset_;
  }

 private:
  constexpr Position(Anchor anchor, std::int64_t offset) : anchor_(anchor), offset_(offset) {}
  Anchor anchor_;
  std::int64_t offset_;
};

}  // namespace lookback
