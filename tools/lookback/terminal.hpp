// What a terminal can show: colour on standard output, a progress bar on standard error.
#pragma once

#include <chrono>
#include <string>

namespace lookback::cli {

/// Emphasis and shades as 256-colour escape sequences, or nothing at all where they are unwelcome.
class Style {
 public:
  explicit Style(bool colour) : colour_(colour) {}
  /// Colour only for a terminal that is not dumb, and never under NO_COLOR (no-color.org).
  static Style of_stdout();

  bool colour() const { return colour_; }
  std::string bold(const std::string& text) const { return wrap("1", text); }
  std::string dim(const std::string& text) const { return wrap("2", text); }
  std::string accent(const std::string& text) const { return wrap("1;38;5;209", text); }
  /// text on the background of a shade, 0 (no weight) to kShades - 1 (all of it).
  std::string shaded(const std::string& text, int shade) const;

  static constexpr int kShades = 10;

 private:
  std::string wrap(const std::string& codes, const std::string& text) const;
  bool colour_;
};

/// One line on standard error, drawn only if that is a terminal and the work outlasts a second.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(double fraction);

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point start_;
  Clock::time_point last_;
};

}  // namespace lookback::cli
