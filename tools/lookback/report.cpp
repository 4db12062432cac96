#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>

#include "lookback/target.hpp"
#include "text.hpp"

namespace lookback::cli {
namespace {

// How many keys row i of n_q sees, summed over i. A double: 2^53 pairs are far out of reach.
double visible_pairs(std::int64_t n_q, std::int64_t n_k, const std::optional<Position>& causal) {
  const auto rows = static_cast<double>(n_q);
  const auto keys = static_cast<double>(n_k);
  if (!causal || n_q == 0 || n_k == 0) return rows * keys;
  // Row i sees i + offset + 1 keys: none before the first such row, all n_k from the last one on.
  const auto offset = static_cast<double>(causal->offset(0, n_q, n_k));
  const double first = std::clamp(-offset, 0.0, rows);
  const double full = std::clamp(keys - 1 - offset, first, rows);
  const double sloping = full - first;
  return sloping * (first + offset + 1) + sloping * (sloping - 1) / 2 + (rows - full) * keys;
}

// Three digits or so, never in scientific notation.
std::string rate(double gflops) {
  return fixed(gflops, gflops >= 100 ? 0 : gflops >= 10 ? 1 : gflops >= 1 ? 2 : 4);
}

std::string line(const std::string& name, const std::vector<std::int64_t>& shape) {
  return pad_right(name, 5) + shape_text(shape) + "\n";
}

}  // namespace

void print_report(const Inputs& inputs, const Results& results, const Options& options,
                  double seconds) {
  const auto [B, H, n_q, d_v] = results.extent;
  const std::int64_t d = inputs.q.shape.back();
  const bool countable = !options.window && !options.prefix && !options.lengths && !options.mask &&
                         !options.bias && !options.q_bounds;
  const std::optional<Position> causal = options.causal ? options.position : std::nullopt;
  const std::int64_t n_k = inputs.k_tensor().extent[2];
  const double operations = 2.0 * static_cast<double>(d + d_v) * static_cast<double>(B * H) *
                            visible_pairs(n_q, n_k, causal);

  std::string text = line("q", inputs.q.shape) + line("k", inputs.k.shape) +
                     line("v", inputs.v.shape) + line("out", results.out_shape);
  if (results.lse) text += line("lse", results.lse_shape);
  text += std::string(name_of(results.type)) + " on " + active_target() + ", " + duration(seconds);
  if (countable && operations > 0 && seconds > 0) {
    text += ", " + rate(operations / seconds / 1e9) + " GFLOP/s";
  }
  std::printf("%s\n", text.c_str());
}

}  // namespace lookback::cli
