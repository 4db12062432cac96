// One self-contained page to play with: all heads of a text, and where each word looks.
#pragma once

#include <string>

#include "align/source.hpp"
#include "align/text_views.hpp"
#include "align/views.hpp"

namespace lookback::cli {

/// The page for a selection, opened at the head that is shown. A short text comes with its scores,
/// from which the page computes weights at any temperature; a long one with its heaviest links and
/// a pooled map of every head, with and without causality.
std::string web_page(const Source& source, EngineOptions& engine, const Selection& selection,
                     const Shown& shown, Progress& progress);

/// How many calls of the engine it takes, for the progress bar.
int web_page_calls(const Source& source, const EngineOptions& engine, const Selection& selection);

}  // namespace lookback::cli
