// Ours and the machine's limits in alternate short turns, so that both see the same machine.
#pragma once

#include <vector>

#include "roofs.hpp"

namespace lookback::bench {

inline constexpr int kTurns = 15;

/// A limit, and how much of its unit (flop, byte) one call of ours needs.
struct Roof {
  Turn turn;
  double units_per_call;
};

struct Summary {
  double best;
  double median;
};

/// roofs, ours, roofs, ours, ..., roofs.
class Turns {
 public:
  /// `calls` returns calls per second.
  Turns(Turn calls, std::vector<Roof> roofs);

  /// One more turn of ours, then one of every roof. Returns the calls per second of ours.
  double take();

  /// Calls per second.
  Summary calls() const;
  /// Of the roof's own rate.
  Summary rate(std::size_t roof) const;
  /// Of the roof that ours reaches. best: the best turn of ours over the best turn of the roof, so
  /// that a slow turn of the roof flatters nobody. median: of the turns of ours, each over the mean
  /// of the roof's turns before and after it.
  Summary fraction(std::size_t roof) const;

 private:
  void take_roofs();

  Turn calls_;
  std::vector<Roof> roofs_;
  std::vector<double> calls_rates_;
  std::vector<std::vector<double>> roof_rates_;  // [roof][turn], one turn more than ours
};

/// Of at least one rate.
Summary summarise(std::vector<double> rates);

}  // namespace lookback::bench
