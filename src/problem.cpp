#include "problem.hpp"

namespace lookback {
namespace {

/// Offsets and distances are cut off here, so that sums of them do not overflow. No array reaches
/// as far; only two far ones of opposite sign that are meant to cancel would notice.
constexpr std::int64_t kFar = std::int64_t{1} << 60;

std::int64_t near(std::int64_t x) {
  return std::clamp(x, -kFar, kFar);
}

}  // namespace

Sequence Problem::sequence(std::int64_t s) const {
  const auto at = static_cast<std::size_t>(s);
  Sequence sequence{s, s, 0, q.extent[2], 0, k.extent[2], 0};
  if (is_packed()) {
    const auto q_bounds = *options.q_bounds;
    const auto k_bounds = options.k_bounds.value_or(q_bounds);
    sequence = {s,
                0,
                q_bounds[at],
                q_bounds[at + 1] - q_bounds[at],
                k_bounds[at],
                k_bounds[at + 1] - k_bounds[at],
                0};
  }
  if (options.lengths) sequence.n_k = (*options.lengths)[at];
  if (options.position) {
    sequence.offset = near(options.position->offset(s, sequence.n_q, sequence.n_k));
  }
  return sequence;
}

KeyRange Problem::positioned_range(const Sequence& sequence, std::int64_t i) const {
  const std::int64_t n_k = sequence.n_k, position = i + sequence.offset;
  std::int64_t first = 0, end = n_k;
  if (options.causal) end = std::clamp(position + 1, std::int64_t{0}, n_k);
  if (options.window && options.window->left) {
    first = std::clamp(position - near(*options.window->left), std::int64_t{0}, n_k);
  }
  if (options.window && options.window->right) {
    end = std::min(end,
                   std::clamp(position + near(*options.window->right) + 1, std::int64_t{0}, n_k));
  }
  first = std::min(first, end);
  const std::int64_t prefix = std::min(options.prefix.value_or(0), n_k);
  if (prefix == 0) return {first, end, end, end};
  if (prefix >= first)
    return {0, std::max(prefix, end), std::max(prefix, end), std::max(prefix, end)};
  return {0, prefix, first, end};
}

Strides broadcast_strides(const Tensor& tensor) {
  Strides stride = tensor.stride;
  for (std::size_t i = 0; i < 4; ++i) {
    if (tensor.extent[i] == 1) stride[i] = 0;
  }
  return stride;
}

}  // namespace lookback
