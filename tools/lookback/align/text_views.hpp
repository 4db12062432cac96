// The views as text for a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "align/source.hpp"
#include "align/views.hpp"
#include "terminal.hpp"

namespace lookback::cli {

/// The head that is shown, as a place within the selection.
struct Shown {
  std::int64_t layer = 0, head = 0;
};

/// Up to here a text is short: every word is shown beside the map.
inline constexpr std::int64_t kShortText = 24;

/// What the text is made of.
struct TextViews {
  const Source& source;
  const Selection& selection;
  const std::vector<Table>& tables;
  Shown shown;
  std::vector<std::int64_t> rows;  // asked for by --rows
};

/// A cell of a pooled map, from the mean weight: the share of its rows' weight that goes to its
/// keys.
double cell_share(double mean_weight, std::int64_t n_k, std::int64_t cells, std::int64_t cell);

/// "layer 5, head 11 of 6 x 12"
std::string name_of_shown(const TextViews& views);

/// The heat map with all words; for a short text only.
std::string short_map(const Style& style, const TextViews& views);
/// The pooled map of one head, [1, 1, R, C], with axes.
std::string long_map(const Style& style, const TextViews& views, const View& map);

/// "climbed -> cat 0.31", heaviest first.
std::string strongest_links(const Style& style, const TextViews& views);
/// The heaviest keys of the rows asked for.
std::string chosen_rows(const Style& style, const TextViews& views);
/// The mean over the rows, in nats, for every layer and head.
std::string entropy_table(const Style& style, const TextViews& views);

}  // namespace lookback::cli
