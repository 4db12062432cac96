// The page, opened in whatever the desktop opens pages with.
#pragma once

#include <string>

namespace lookback::cli {

/// False if there is nothing to open it with.
bool open_in_browser(const std::string& path);

}  // namespace lookback::cli
