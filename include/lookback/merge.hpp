// merge(): joins results computed over disjoint sets of keys.
#pragma once

#include <span>

#include "lookback/attend.hpp"

namespace lookback {

/// What attend() gave for the same queries over one set of keys.
struct Part {
  Tensor out;  // [B, H, n_q, d_v]
  Tensor lse;  // [B, H, n_q, 1]
};

/// The result over all the keys together:
///
///     m = max lse_p     out = sum_p exp(lse_p - m) out_p / l     lse = m + ln l,  l = sum_p
///     exp(lse_p - m)
///
/// A part with lse = -inf saw nothing and is not looked at: (0, -inf) is the neutral element. Two
/// parts give the same bits in either order; more parts are summed in the order given, which
/// matters only to rounding. A sink belongs to one part only.
///
/// float64 parts make a float64 result; other types are computed in float32 and may be mixed. lse
/// is float64 or float32 accordingly. The outputs share no memory with the parts. No parts at all
/// make an empty result. Throws Error; everything is checked before anything is written.
LOOKBACK_API void merge(std::span<const Part> parts, const Outputs& outputs);

}  // namespace lookback
