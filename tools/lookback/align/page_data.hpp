// What the page is given to draw: numbers as base64, exact where they fit.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "align/source.hpp"
#include "align/views.hpp"

namespace lookback::cli {

struct PageBlock {
  std::string id, base64;
};

/// Whether all scores fit into the page, which then computes weights from them itself.
bool fits_whole(const Source& source, const Selection& selection);

/// Whether "causal" means something for these rows and keys.
bool has_causal_form(const Source& source, const Options& options);

/// The blocks, and in meta what they hold:
///
/// - if it fits whole: "scores", before the temperature and without causality, as float32 (float64
///   with float64 q), and meta.sinks;
/// - otherwise, for both forms v = 0 and, if there is a causal one, 1: "cells<v>", the share of the
///   rows' weight that goes to the keys of a cell, as bytes (255 sqrt(share)); "keys<v>" and
///   "weights<v>", the heaviest keys of every row (uint16 or uint32; the largest number for none)
///   and their weights (uint16, 65535 w); "entropies<v>" (float32).
///
/// Throws Failure if not even that fits into a page.
std::vector<PageBlock> page_blocks(const Source& source, Task task, nlohmann::ordered_json& meta,
                                   Progress& progress);

}  // namespace lookback::cli
