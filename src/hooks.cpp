#include "lookback/hooks.hpp"

#include <algorithm>
#include <cstdlib>

#include "kernels/natural_log.hpp"
#include "message.hpp"

namespace lookback {
namespace {

/// Calls change(score, row, distance) for every score, distance being key - position. Rows are
/// innermost where they lie side by side in memory.
template <class T, class Change>
void for_each_score(const lookback_score_tile& tile, const Change& change) {
  T* scores = static_cast<T*>(tile.scores);
  const bool rows_inside = tile.row_stride == 1;
  const std::int64_t outer = rows_inside ? tile.keys : tile.rows;
  const std::int64_t inner = rows_inside ? tile.rows : tile.keys;
  const std::int64_t outer_stride = rows_inside ? tile.key_stride : tile.row_stride;
  const std::int64_t inner_stride = rows_inside ? tile.row_stride : tile.key_stride;
  const std::int64_t step = rows_inside ? -1 : 1;
  const std::int64_t start = tile.first_key - tile.first_position;
  for (std::int64_t a = 0; a < outer; ++a) {
    T* at = scores + a * outer_stride;
    const std::int64_t distance = start - step * a;
    for (std::int64_t b = 0; b < inner; ++b) change(at[b * inner_stride], distance + step * b);
  }
}

template <class Change>
void for_each_score(const lookback_score_tile& tile, const Change& change) {
  if (tile.is_float64) {
    for_each_score<double>(tile, change);
  } else {
    for_each_score<float>(tile, change);
  }
}

}  // namespace

RelativeBias::RelativeBias(std::vector<float> table, std::int64_t buckets, std::int64_t heads,
                           std::int64_t max_distance, bool bidirectional)
    : table_(std::move(table)),
      buckets_(buckets),
      heads_(heads),
      max_distance_(max_distance),
      bidirectional_(bidirectional) {
  require(buckets >= 4 && buckets <= 1 << 20, "buckets is ", buckets,
          "; it must be from 4 to 2^20");
  require(heads >= 1 && heads <= 1 << 20, "heads is ", heads, "; it must be from 1 to 2^20");
  require(max_distance > buckets && max_distance <= 1 << 24, "max_distance is ", max_distance,
          "; it must be above the ", buckets, " buckets and at most 2^24");
  require(static_cast<std::int64_t>(table_.size()) == buckets * heads, "table holds ",
          table_.size(), " numbers; it must hold buckets x heads = ", buckets * heads);
  for (std::int64_t x = -max_distance; x <= max_distance; ++x) near_.push_back(far_bucket(x));
}

std::int64_t RelativeBias::far_bucket(std::int64_t distance) const {
  std::int64_t count = buckets_, first = 0;
  if (bidirectional_) {
    count /= 2;
    if (distance > 0) first = count;
    distance = std::abs(distance);
  } else {
    distance = std::max(-distance, std::int64_t{0});
  }
  const std::int64_t exact = count / 2;
  if (distance < exact) return first + distance;
  const auto log_over_exact = [&](std::int64_t x) {
    return kernels::natural_log(static_cast<double>(x) / static_cast<double>(exact));
  };
  const double octave = log_over_exact(distance) / log_over_exact(max_distance_);
  const auto large = exact + static_cast<std::int64_t>(octave * static_cast<double>(count - exact));
  return first + std::min(large, count - 1);
}

std::int64_t RelativeBias::bucket(std::int64_t distance) const {
  distance = std::clamp(distance, -max_distance_, max_distance_);
  return near_[static_cast<std::size_t>(distance + max_distance_)];
}

void RelativeBias::hook(const lookback_score_tile* tile, void* user) {
  const auto& self = *static_cast<const RelativeBias*>(user);
  const float* column = self.table_.data() + tile->head % self.heads_;
  for_each_score(*tile, [&](auto& score, std::int64_t distance) {
    using T = std::remove_reference_t<decltype(score)>;
    score += static_cast<T>(column[self.bucket(distance) * self.heads_]);
  });
}

void DistanceDecay::hook(const lookback_score_tile* tile, void* user) {
  const double rate = static_cast<const DistanceDecay*>(user)->rate;
  for_each_score(*tile, [&](auto& score, std::int64_t distance) {
    using T = std::remove_reference_t<decltype(score)>;
    score -=
        static_cast<T>(rate * kernels::natural_log(1 + static_cast<double>(std::abs(distance))));
  });
}

void AddConstant::hook(const lookback_score_tile* tile, void* user) {
  const float value = static_cast<const AddConstant*>(user)->value;
  for_each_score(*tile, [&](auto& score, std::int64_t) {
    using T = std::remove_reference_t<decltype(score)>;
    score += static_cast<T>(value);
  });
}

}  // namespace lookback
