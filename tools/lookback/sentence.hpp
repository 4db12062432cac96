// The real sentence of act 3, built into the command: its tokens and what enters attention.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npy.hpp"

namespace lookback::cli {

/// q, k, v are [layer, head, token, feature].
struct Sentence {
  std::string text;
  std::vector<std::string> tokens;
  NpyArray q, k, v;

  static constexpr std::int64_t kLayers = 6;
  static constexpr std::int64_t kHeads = 12;
};

/// data/README.md says where it comes from.
Sentence load_sentence();

}  // namespace lookback::cli
