#include "options.hpp"

#include <charconv>
#include <cstdlib>

namespace lookback::cli {

std::optional<std::int64_t> whole_number(const std::string& text) {
  const char* first = text.data();
  const char* last = first + text.size();
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') ++first;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(first, last, number);
  if (error != std::errc() || end != last) return std::nullopt;
  return number;
}

// An empty description, for the help says in its own words what an option takes.
CLI::Validator is_number() {
  const auto check = [](const std::string& text) -> std::string {
    char* end = nullptr;
    std::strtod(text.c_str(), &end);
    const bool whole = !text.empty() && end == text.c_str() + text.size();
    return whole ? "" : "'" + text + "' is not a number";
  };
  return {check, ""};
}

CLI::Validator is_whole_number(std::int64_t lowest, std::int64_t highest) {
  const auto check = [lowest, highest](const std::string& text) -> std::string {
    const std::optional<std::int64_t> number = whole_number(text);
    if (number && *number >= lowest && *number <= highest) return "";
    return "'" + text + "' is not a whole number from " + std::to_string(lowest) + " to " +
           std::to_string(highest);
  };
  return {check, ""};
}

}  // namespace lookback::cli
