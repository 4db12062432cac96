// Letters of 5 x 8 dots, enough for words on a picture without a font on the machine.
#pragma once

#include <array>
#include <cstdint>

namespace lookback::cli {

inline constexpr int kGlyphWidth = 5;
inline constexpr int kGlyphHeight = 8;  // the last line is for what hangs below: g, j, p, q, y

/// Columns from the left; bit 0 is the dot on top.
using Glyph = std::array<std::uint8_t, kGlyphWidth>;

/// ASCII is drawn; letters with accents are drawn without; the rest is a box.
const Glyph& glyph_of(char32_t character);

}  // namespace lookback::cli
