// The three acts of `lookback demo`, each as text. Every number in them is computed when it is
// asked for, by the engine.
#pragma once

#include <cstdint>
#include <string>

#include "terminal.hpp"

namespace lookback::cli {

/// What act 3 shows of the real sentence.
struct SentenceChoice {
  // The head in which nearly every word looks at the two that act, cat and dog.
  std::int64_t layer = 5;
  std::int64_t head = 11;
  double temperature = 1.0;
  bool causal = false;
};

std::string act_one_row(const Style& style);
std::string act_two_dictionary(const Style& style);
std::string act_three_sentence(const Style& style, const SentenceChoice& choice);

}  // namespace lookback::cli
