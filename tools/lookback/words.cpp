#include "words.hpp"

#include <algorithm>
#include <array>

namespace lookback::cli {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

// How many bytes the character takes that starts with this one; 0 if none does.
std::size_t length_of(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0);
}

}  // namespace

std::string name_of_word(const std::vector<std::string>& words, std::size_t place) {
  constexpr std::array<const char*, 4> kOrdinals = {"1st", "2nd", "3rd", "4th"};
  const std::string& word = words[place];
  const auto here = words.begin() + static_cast<std::ptrdiff_t>(place);
  const auto before = static_cast<std::size_t>(std::count(words.begin(), here, word));
  if (std::count(words.begin(), words.end(), word) == 1) return word;
  const bool has_name = before < kOrdinals.size();
  return word + " (" + (has_name ? kOrdinals[before] : std::to_string(before + 1) + "th") + ")";
}

std::u32string characters_of(const std::string& text) {
  std::u32string characters;
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t length = length_of(first);
    bool valid = length > 0 && i + length <= text.size();
    char32_t c = length <= 1 ? first : first & (0x7FU >> length);
    for (std::size_t more = 1; valid && more < length; ++more) {
      const auto byte = static_cast<unsigned char>(text[i + more]);
      valid = (byte & 0xC0U) == 0x80U;
      c = c << 6 | (byte & 0x3FU);
    }
    characters += valid && !is_control(c) ? c : kReplacement;
    i += valid ? length : 1;
  }
  return characters;
}

std::string utf8_of(const std::u32string& characters) {
  std::string text;
  const auto add = [&](char32_t bits) { text += static_cast<char>(bits); };
  for (const char32_t c : characters) {
    if (c < 0x80) {
      add(c);
      continue;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    add((0xF00U >> more & 0xFFU) | c >> (6 * more));
    while (more-- > 0) add(0x80U | (c >> (6 * more) & 0x3FU));
  }
  return text;
}

std::string label_of(const std::string& word, std::size_t longest) {
  std::u32string characters = characters_of(word);
  if (characters.size() <= longest) return utf8_of(characters);
  characters.resize(longest - 2);
  return utf8_of(characters) + "..";
}

}  // namespace lookback::cli
