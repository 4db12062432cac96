#include "terminal.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "text.hpp"

namespace lookback::cli {
namespace {

// From near black over violet and orange to pale yellow: lightness rises with every step, so the
// map also reads in grey and for the colour-blind.
constexpr std::array<int, Style::kShades> kBackground = {234, 17,  54,  90,  126,
                                                         161, 203, 209, 215, 229};
constexpr int kFirstLightShade = 6;  // from here on black text reads better than white

bool is_dumb_terminal() {
  const char* term = std::getenv("TERM");
  return term == nullptr || *term == '\0' || std::string_view(term) == "dumb";
}

bool no_color() {
  const char* value = std::getenv("NO_COLOR");
  return value != nullptr && *value != '\0';
}

}  // namespace

Style Style::of_stdout() {
  return Style(isatty(STDOUT_FILENO) != 0 && !is_dumb_terminal() && !no_color());
}

std::string Style::wrap(const std::string& codes, const std::string& text) const {
  return colour_ ? "\033[" + codes + "m" + text + "\033[0m" : text;
}

std::string Style::shaded(const std::string& text, int shade) const {
  const int background = kBackground.at(static_cast<std::size_t>(shade));
  const int foreground = shade < kFirstLightShade ? 255 : 16;
  return wrap("48;5;" + std::to_string(background) + ";38;5;" + std::to_string(foreground), text);
}

ProgressBar::ProgressBar()
    : terminal_(isatty(STDERR_FILENO) != 0), start_(Clock::now()), last_(start_) {}

ProgressBar::~ProgressBar() {
  // Carriage return and "erase to the end of the line": what follows starts on a clean line.
  if (drawn_) std::fputs(is_dumb_terminal() ? "\n" : "\r\033[K", stderr);
}

void ProgressBar::show(double fraction) {
  constexpr auto kPatience = std::chrono::seconds(1);
  constexpr auto kRedraw = std::chrono::milliseconds(100);
  constexpr int kWidth = 40;

  const Clock::time_point now = Clock::now();
  if (!terminal_ || now - start_ < kPatience || now - last_ < kRedraw) return;
  last_ = now;
  drawn_ = true;

  fraction = std::clamp(fraction, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(fraction * kWidth);
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  std::string line = "[" + std::string(filled, '=') + std::string(kWidth - filled, ' ') + "] " +
                     pad_left(percent(fraction), 5);
  // A remaining time judged from the first percent would jump about.
  if (fraction > 0.01) {
    line += ", " + pad_right(fixed(elapsed * (1 - fraction) / fraction, 0) + " s left", 12);
  }
  std::fprintf(stderr, "\r%s", line.c_str());
  std::fflush(stderr);
}

}  // namespace lookback::cli
