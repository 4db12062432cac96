// A small picture: rectangles, text in a font of its own, and the .png file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lookback::cli {

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;
};

enum class Direction : std::uint8_t { right, up };

class Canvas {
 public:
  /// White.
  Canvas(int width, int height);

  int width() const { return width_; }
  int height() const { return height_; }

  /// Parts outside are left out.
  void fill(int x, int y, int width, int height, Colour colour);
  /// Text whose first letter starts at (x, y), its upper left corner, or, upwards, its lower left.
  void write(int x, int y, const std::string& text, Colour colour, int scale,
             Direction direction = Direction::right);

  /// How far text reaches, and how tall a line is without the gap to the next.
  static int text_width(const std::string& text, int scale);
  static int text_height(int scale);

  /// The picture as a .png file.
  std::vector<std::byte> png() const;

 private:
  int width_, height_;
  std::vector<std::uint8_t> pixels_;  // red, green, blue, row by row
};

}  // namespace lookback::cli
