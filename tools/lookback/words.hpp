// Words of a text as labels: told apart, and safe to print.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lookback::cli {

/// "cat"; "the (2nd)" where the same word stands more than once.
std::string name_of_word(const std::vector<std::string>& words, std::size_t place);

/// The characters of UTF-8 text; what is not UTF-8, and control characters, become U+FFFD.
std::u32string characters_of(const std::string& text);
std::string utf8_of(const std::u32string& characters);

/// A word as a label of at most so many characters; "longest..." if it has more.
std::string label_of(const std::string& word, std::size_t longest);

}  // namespace lookback::cli
