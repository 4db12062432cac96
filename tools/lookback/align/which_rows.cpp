#include "align/which_rows.hpp"

#include <algorithm>

#include "failure.hpp"
#include "options.hpp"

namespace lookback::cli {
namespace {

void add_part(std::vector<std::int64_t>& rows, const std::string& part,
              const std::vector<std::string>& words, bool has_words) {
  const auto n = static_cast<std::int64_t>(words.size());
  const std::size_t dash = part.find('-', 1);
  const auto first = whole_number(part.substr(0, dash));
  const auto last = dash == std::string::npos ? first : whole_number(part.substr(dash + 1));
  if (first && last) {
    if (*first < 0 || *last < *first || *last >= n) {
      throw bad_usage("--rows: '" + part + "' is not among the rows 0 to " + std::to_string(n - 1));
    }
    for (std::int64_t row = *first; row <= *last; ++row) rows.push_back(row);
    return;
  }
  const std::size_t before = rows.size();
  for (std::int64_t row = 0; has_words && row < n; ++row) {
    if (words[static_cast<std::size_t>(row)] == part) rows.push_back(row);
  }
  if (rows.size() == before) {
    throw bad_usage("--rows: '" + part + "' is neither a row nor a word of the text");
  }
}

}  // namespace

std::vector<std::int64_t> which_rows(const std::string& text, const std::vector<std::string>& words,
                                     bool has_words) {
  std::vector<std::int64_t> rows;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    add_part(rows, text.substr(start, end - start), words, has_words);
    start = end + 1;
  }
  return rows;
}

}  // namespace lookback::cli
