#include "align/picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "align/canvas.hpp"
#include "text.hpp"
#include "words.hpp"

namespace lookback::cli {
namespace {

constexpr Colour kInk = {32, 32, 38};
constexpr Colour kFaint = {120, 120, 128};
constexpr Colour kPaper = {255, 255, 255};
constexpr int kMargin = 24;
constexpr int kTextScale = 2;
constexpr std::size_t kLongestWord = 20;
constexpr const char* kLegend = "percent of a row's weight";

// From white over amber and red to near black: lightness falls with every step, so the map also
// reads in grey and for the colour-blind.
constexpr std::array<Colour, 7> kRamp = {{{250, 250, 248},
                                          {254, 224, 166},
                                          {252, 177, 104},
                                          {238, 110, 82},
                                          {190, 50, 110},
                                          {112, 24, 122},
                                          {36, 12, 64}}};

// A level from 0 to 1 as a colour.
Colour colour_of(double level) {
  const double place = level * (kRamp.size() - 1);
  const auto lower = std::min(static_cast<std::size_t>(place), kRamp.size() - 2);
  const double part = place - static_cast<double>(lower);
  const auto mix = [&](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(std::lround(a + part * (b - a)));
  };
  const Colour from = kRamp[lower];
  const Colour to = kRamp[lower + 1];
  return {mix(from.red, to.red), mix(from.green, to.green), mix(from.blue, to.blue)};
}

// Ink that can be read on a colour.
Colour ink_on(Colour colour) {
  return 0.3 * colour.red + 0.59 * colour.green + 0.11 * colour.blue > 130 ? kInk : kPaper;
}

// Shares as levels: a square root, for most weights are small. Where cells are words the scale ends
// at all of the weight, otherwise at the largest share that there is.
class Scale {
 public:
  explicit Scale(double end) : end_(end > 0 ? end : 1) {}
  double level(double share) const { return std::sqrt(std::clamp(share / end_, 0.0, 1.0)); }
  double share(double level) const { return end_ * level * level; }

 private:
  double end_;
};

// Where everything lies.
struct Layout {
  int cell_width, cell_height;  // of the map, in pixels
  int left, top;                // of the map
  int label_step;               // rows and columns from one label to the next
  bool all_words;
};

int longest_label(const std::vector<std::string>& words) {
  int longest = 0;
  for (const std::string& word : words) {
    longest = std::max(longest, Canvas::text_width(label_of(word, kLongestWord), kTextScale));
  }
  return longest;
}

Layout lay_out(const MapPicture& map) {
  constexpr int kBigCell = 40;
  constexpr int kWordsUpTo = 64;  // more would not fit on a screen
  constexpr int kMapSide = 1024;
  constexpr int kLabel = 22;  // pixels from one line of labels to the next
  const int longest_side = std::max(map.rows, map.columns);
  Layout layout = {};
  layout.all_words = static_cast<std::size_t>(map.rows) == map.row_words.size() &&
                     static_cast<std::size_t>(map.columns) == map.column_words.size() &&
                     longest_side <= kWordsUpTo;
  const int cell = layout.all_words ? std::max(kLabel, std::min(kBigCell, 1200 / longest_side))
                                    : std::max(1, kMapSide / longest_side);
  layout.cell_width = layout.cell_height = cell;
  layout.label_step = layout.all_words ? 1 : std::max(1, (4 * kLabel + cell - 1) / cell);
  const int number = Canvas::text_width("  65535", kTextScale);
  const int extra = layout.all_words ? 0 : number;
  layout.left = kMargin + longest_label(map.row_words) + extra + 12;
  layout.top =
      2 * kMargin + Canvas::text_height(kTextScale) + longest_label(map.column_words) + extra + 12;
  return layout;
}

// "word 123" where not every word has its label.
std::string label_at(const std::vector<std::string>& words, int cell, int cells, bool all_words) {
  const std::size_t first =
      static_cast<std::size_t>(cell) * words.size() / static_cast<std::size_t>(cells);
  const std::string word = label_of(words[first], kLongestWord);
  const std::string number = std::to_string(first);
  return all_words || word == number ? word : word + " " + number;
}

void draw_labels(Canvas& canvas, const MapPicture& map, const Layout& layout) {
  const int half = Canvas::text_height(kTextScale) / 2;
  for (int row = 0; row < map.rows; row += layout.label_step) {
    const std::string label = label_at(map.row_words, row, map.rows, layout.all_words);
    const int middle =
        layout.top + row * layout.cell_height + (layout.all_words ? layout.cell_height / 2 : 0);
    canvas.write(layout.left - 10 - Canvas::text_width(label, kTextScale), middle - half, label,
                 kInk, kTextScale);
    canvas.fill(layout.left - 7, middle, 5, 1, kFaint);
  }
  for (int column = 0; column < map.columns; column += layout.label_step) {
    const std::string label = label_at(map.column_words, column, map.columns, layout.all_words);
    const int middle =
        layout.left + column * layout.cell_width + (layout.all_words ? layout.cell_width / 2 : 0);
    canvas.write(middle - half, layout.top - 10, label, kInk, kTextScale, Direction::up);
    canvas.fill(middle, layout.top - 7, 1, 5, kFaint);
  }
}

Scale scale_of(const MapPicture& map, const Layout& layout) {
  if (layout.all_words) return Scale(1);
  double largest = 0;
  for (const double share : map.shares) {
    if (share > largest) largest = share;
  }
  return Scale(largest);
}

void draw_cells(Canvas& canvas, const MapPicture& map, const Layout& layout, const Scale& scale) {
  const bool framed = layout.cell_width >= 8;
  for (int row = 0; row < map.rows; ++row) {
    for (int column = 0; column < map.columns; ++column) {
      const double share = map.shares[static_cast<std::size_t>(row * map.columns + column)];
      const int x = layout.left + column * layout.cell_width;
      const int y = layout.top + row * layout.cell_height;
      // A share that is not a number is grey, which no share is.
      const Colour colour = std::isnan(share) ? kFaint : colour_of(scale.level(share));
      canvas.fill(x, y, layout.cell_width - (framed ? 1 : 0), layout.cell_height - (framed ? 1 : 0),
                  colour);
      const std::string number = fixed(100 * share, 0);
      const int width = Canvas::text_width(number, kTextScale) - kTextScale;
      if (!layout.all_words || layout.cell_width < width + 4 || !(share >= 0.005)) continue;
      canvas.write(x + (layout.cell_width - 1 - width) / 2,
                   y + (layout.cell_height + 1 - Canvas::text_height(kTextScale)) / 2, number,
                   ink_on(colour), kTextScale);
    }
  }
}

void draw_legend(Canvas& canvas, int x, int y, const Scale& scale) {
  constexpr int kStep = 3;
  constexpr int kSteps = 100;
  for (int step = 0; step < kSteps; ++step) {
    canvas.fill(x + step * kStep, y, kStep, 16, colour_of(step / (kSteps - 1.0)));
  }
  for (const double level : {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}) {
    const int at = static_cast<int>(kSteps * kStep * level);
    canvas.fill(x + at, y + 16, 1, 5, kFaint);
    const double percent = 100 * scale.share(level);
    const std::string label = fixed(percent, percent > 0 && percent < 9.95 ? 1 : 0);
    canvas.write(x + at - Canvas::text_width(label, kTextScale) / 2, y + 25, label, kFaint,
                 kTextScale);
  }
  canvas.write(x + kSteps * kStep + 40, y + 1, kLegend, kFaint, kTextScale);
}

}  // namespace

std::vector<std::byte> draw_map(const MapPicture& map) {
  const Layout layout = lay_out(map);
  const int legend_width = 100 * 3 + 40 + Canvas::text_width(kLegend, kTextScale);
  const int title_width = Canvas::text_width(map.title, kTextScale);
  const int below = layout.top + map.rows * layout.cell_height;
  Canvas canvas(std::max({layout.left + map.columns * layout.cell_width,
                          kMargin + 12 + legend_width, kMargin + title_width}) +
                    kMargin,
                below + 76);
  canvas.write(kMargin, kMargin, map.title, kInk, kTextScale);
  draw_labels(canvas, map, layout);
  const Scale scale = scale_of(map, layout);
  draw_cells(canvas, map, layout, scale);
  draw_legend(canvas, kMargin + 12, below + 24, scale);
  return canvas.png();
}

}  // namespace lookback::cli
