#include "align/canvas.hpp"

#include <png.h>

#include <algorithm>
#include <stdexcept>

#include "align/font.hpp"
#include "words.hpp"

namespace lookback::cli {

Canvas::Canvas(int width, int height)
    : width_(width),
      height_(height),
      pixels_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3, 255) {}

void Canvas::fill(int x, int y, int width, int height, Colour colour) {
  for (int row = std::max(y, 0); row < std::min(y + height, height_); ++row) {
    for (int column = std::max(x, 0); column < std::min(x + width, width_); ++column) {
      const auto place = static_cast<std::size_t>(row) * static_cast<std::size_t>(width_) +
                         static_cast<std::size_t>(column);
      pixels_[3 * place] = colour.red;
      pixels_[3 * place + 1] = colour.green;
      pixels_[3 * place + 2] = colour.blue;
    }
  }
}

void Canvas::write(int x, int y, const std::string& text, Colour colour, int scale,
                   Direction direction) {
  for (const char32_t character : characters_of(text)) {
    const Glyph& glyph = glyph_of(character);
    for (int column = 0; column < kGlyphWidth; ++column) {
      for (int row = 0; row < kGlyphHeight; ++row) {
        if ((glyph[static_cast<std::size_t>(column)] >> row & 1) == 0) continue;
        if (direction == Direction::right) {
          fill(x + column * scale, y + row * scale, scale, scale, colour);
        } else {
          fill(x + row * scale, y - (column + 1) * scale, scale, scale, colour);
        }
      }
    }
    const int step = (kGlyphWidth + 1) * scale;
    (direction == Direction::right ? x : y) += direction == Direction::right ? step : -step;
  }
}

int Canvas::text_width(const std::string& text, int scale) {
  return static_cast<int>(characters_of(text).size()) * (kGlyphWidth + 1) * scale;
}

int Canvas::text_height(int scale) {
  return kGlyphHeight * scale;
}

std::vector<std::byte> Canvas::png() const {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width_);
  image.height = static_cast<png_uint_32>(height_);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  if (png_image_write_to_memory(&image, nullptr, &size, 0, pixels_.data(), 0, nullptr) == 0) {
    throw std::runtime_error(std::string("the picture cannot be made: ") + image.message);
  }
  std::vector<std::byte> bytes(size);
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels_.data(), 0, nullptr) == 0) {
    throw std::runtime_error(std::string("the picture cannot be made: ") + image.message);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace lookback::cli
