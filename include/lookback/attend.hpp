// attend(): exact attention, score -> softmax -> blend, in one streaming pass.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "lookback/error.hpp"
#include "lookback/export.h"
#include "lookback/score_hook.h"
#include "lookback/tensor.hpp"
#include "lookback/visibility.hpp"

namespace lookback {

/// A function that may change scores, and what it is called with.
struct ScoreHook {
  lookback_score_hook function;
  void* user = nullptr;
};

/// The defaults are the textbook's: softmax(q k^T / sqrt(d)) v, every key visible.
struct Options {
  /// Multiplies q once, before scoring. Finite; 0 and negative are legal. Default 1/sqrt(d); 1
  /// gives the unscaled form. Must be given when d = 0.
  std::optional<double> scale = {};
  /// T in softmax((s - max) / T). Finite and positive: below 1 sharpens, above 1 flattens.
  double temperature = 1.0;

  // Score terms, in the order in which they are applied.
  /// cap in s = cap * tanh(s / cap). Finite and positive.
  std::optional<double> softcap = {};
  /// ALiBi slopes in s -= slope * |p_i - j|: one per head [H], or per sequence and head [B, H].
  /// Finite.
  std::optional<std::span<const double>> alibi = {};
  /// Added to the scores: [B, H, n_q, n_k], broadcast from the right where an extent is 1. float32,
  /// float16 or bfloat16; float64 with float64 q. -inf hides a key.
  std::optional<Tensor> bias = {};
  /// Called with tiles of scores, which it may change.
  std::optional<ScoreHook> hook = {};
  /// A logit per head [H], or per sequence and head [B, H], that takes weight and has no value. Not
  /// divided by the temperature. -inf is no sink; NaN and +inf are errors.
  std::optional<std::span<const double>> sinks = {};

  // Visibility. A key must pass all that are given: (causal and window, or prefix), lengths,
  // documents, blocks and mask.
  /// Row i sees key j only if j <= p_i = i + offset (see Position).
  bool causal = false;
  std::optional<Window> window = {};
  /// Keys j < prefix are seen whatever causal and window say.
  std::optional<std::int64_t> prefix = {};
  /// Where causal, window and ALiBi count from. Defaults to offset 0 when n_q = n_k; must be given
  /// otherwise if one of them is.
  std::optional<Position> position = {};
  /// Keys of each sequence, [B], 0 to n_k; the rest is padding.
  std::optional<std::span<const std::int64_t>> lengths = {};
  std::optional<Documents> documents = {};
  std::optional<Blocks> blocks = {};
  /// boolean [B, H, n_q, n_k], broadcast from the right where an extent is 1; true is visible.
  std::optional<Tensor> mask = {};

  // Packed sequences: q, out are [1, H, tokens, ...], k and v likewise, and sequence s holds tokens
  // bounds[s] to bounds[s + 1]. Bounds start at 0, never fall, and end at the number of tokens.
  /// Bounds of the queries; they serve the keys too if k_bounds is absent.
  std::optional<std::span<const std::int64_t>> q_bounds = {};
  /// Bounds of the keys, as many as q_bounds. Key positions count from each sequence's own first
  /// key. lengths, blocks, mask and bias have no meaning here and are errors.
  std::optional<std::span<const std::int64_t>> k_bounds = {};

  /// At most this many threads, at least 1. Default: what the caller's oneTBB arena has.
  std::optional<int> threads = {};
  /// Called on the calling thread now and then with the fraction done, in [0, 1]. Returning false
  /// ends the call soon with ErrorCode::cancelled. An exception from it ends the call and is passed
  /// on.
  std::function<bool(double)> progress = {};
};

/// Where the results go.
struct Outputs {
  OutputTensor out;                 // [B, H, n_q, d_v]; float64 with float64 q, else any other type
  std::optional<OutputTensor> lse = {};  // [B, H, n_q, 1]; float64 with float64 q, else float32

  Outputs(const OutputTensor& out_) : out(out_) {}  // NOLINT: a lone out reads as one
  Outputs(const OutputTensor& out_, const OutputTensor& lse_) : out(out_), lse(lse_) {}
};

/// For every query row i of q [B, H, n_q, d] against k [B, H_kv, n_k, d] and v [B, H_kv, n_k, d_v]:
///
///     s_j = (scale * q_i) . k_j      w_j = exp((s_j - m) / T) / l      out_i = sum_j w_j v_j
///
/// over the visible keys j, with m = max_j s_j, l = sum_j exp((s_j - m) / T), and, if asked for,
/// lse_i = m / T + ln l (natural logarithm). Options add terms to s_j, and a sink to m and l.
/// Scaled dot-product attention of Vaswani et al. 2017, eq. 1, with the running maximum of Milakov
/// and Gimelshein 2018.
///
/// - float64 goes with float64 only, and is computed in. Other types may be mixed, and are computed
///   in float32.
/// - H is a multiple of H_kv; query head h reads key-value head h / (H / H_kv).
/// - A row that sees no key gives out = 0 and lse = -inf (with a sink: lse = sink). A score of -inf
/// hides its key, one of +inf
///   makes its row NaN. Hidden keys and values are never looked at as numbers.
/// - A row's result has the same bits whatever the number of threads, the rows and sequences that
///   came with it, and the instruction set (x86-64 with FMA, AArch64).
/// - The outputs share no memory with each other or with the inputs, except as slots of one fused
///   array (same strides, disjoint slots).
/// - Beyond these arrays it uses a fixed scratch per thread; nothing grows with n_q x n_k.
///
/// Throws Error. Everything is checked before anything is written.
LOOKBACK_API void attend(const Tensor& q, const Tensor& k, const Tensor& v, const Outputs& outputs,
                         const Options& options = {});

}  // namespace lookback
