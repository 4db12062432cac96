// Ready score hooks, which double as examples of writing one.
#pragma once

#include <cstdint>
#include <vector>

#include "lookback/export.h"
#include "lookback/score_hook.h"

namespace lookback {

/// T5's bucketed relative position bias (Raffel et al. 2020, section 2.1): adds
/// table[bucket(key - position)][head] to every score. Half of the buckets (all of them if not
/// bidirectional) count distances one by one, the rest grow logarithmically up to max_distance.
class LOOKBACK_API RelativeBias {
 public:
  /// table holds [buckets, heads]. Throws Error if a size is not positive or the table's is not
  /// buckets * heads.
  RelativeBias(std::vector<float> table, std::int64_t buckets, std::int64_t heads,
               std::int64_t max_distance = 128, bool bidirectional = true);

  /// Which bucket a key falls into that stands `distance` = key - position away.
  std::int64_t bucket(std::int64_t distance) const;

  /// The hook; user is the RelativeBias.
  static void hook(const lookback_score_tile* tile, void* user);

 private:
  std::int64_t far_bucket(std::int64_t distance) const;

  std::vector<float> table_;
  std::int64_t buckets_, heads_, max_distance_;
  bool bidirectional_;
  std::vector<std::int64_t>
      near_;  // bucket by distance + max_distance, beyond which it is constant
};

/// Subtracts ln(1 + |position - key|) * rate: weights fall with a power of the distance.
struct LOOKBACK_API DistanceDecay {
  float rate;

  /// The hook; user is the DistanceDecay.
  static void hook(const lookback_score_tile* tile, void* user);
};

/// Adds a constant to every score, which changes no weight: the least a hook can do, for measuring
/// what calling one costs.
struct LOOKBACK_API AddConstant {
  float value;

  /// The hook; user is the AddConstant.
  static void hook(const lookback_score_tile* tile, void* user);
};

}  // namespace lookback
