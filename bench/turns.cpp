#include "turns.hpp"

#include <algorithm>
#include <utility>

namespace lookback::bench {

Summary summarise(std::vector<double> rates) {
  std::sort(rates.begin(), rates.end());
  const std::size_t half = rates.size() / 2;
  const double median = rates.size() % 2 ? rates[half] : (rates[half - 1] + rates[half]) / 2;
  return {rates.back(), median};
}

Turns::Turns(Turn calls, std::vector<Roof> roofs)
    : calls_(std::move(calls)), roofs_(std::move(roofs)), roof_rates_(roofs_.size()) {
  take_roofs();
}

void Turns::take_roofs() {
  for (std::size_t r = 0; r < roofs_.size(); ++r) roof_rates_[r].push_back(roofs_[r].turn());
}

double Turns::take() {
  const double rate = calls_();
  calls_rates_.push_back(rate);
  take_roofs();
  return rate;
}

Summary Turns::calls() const {
  return summarise(calls_rates_);
}

Summary Turns::rate(std::size_t roof) const {
  return summarise(roof_rates_[roof]);
}

Summary Turns::fraction(std::size_t roof) const {
  const std::vector<double>& rates = roof_rates_[roof];
  const double units = roofs_[roof].units_per_call;
  std::vector<double> fractions;
  for (std::size_t t = 0; t < calls_rates_.size(); ++t) {
    fractions.push_back(calls_rates_[t] * units / ((rates[t] + rates[t + 1]) / 2));
  }
  return {calls().best * units / rate(roof).best, summarise(fractions).median};
}

}  // namespace lookback::bench
