// attend(): exact attention, score -> softmax -> blend, in one streaming pass.
#pragma once

#include <functional>
#include <optional>

#include "lookback/error.hpp"
#include "lookback/tensor.hpp"
#include "lookback/visibility.hpp"

namespace lookback {

/// The defaults are the textbook's: softmax(q k^T / sqrt(d)) v, every key visible.
struct Options {
  /// Multiplies q once, before scoring. Finite; 0 and negative are legal. Default 1/sqrt(d); 1
  /// gives the unscaled form. Must be given when d = 0.
  std::optional<double> scale;
  /// T in softmax((s - max) / T). Finite and positive: below 1 sharpens, above 1 flattens.
  double temperature = 1.0;
  /// Row i sees key j only if j <= p_i = i + offset (see Position).
  bool causal = false;
  /// Defaults to offset 0 when n_q = n_k; must be given otherwise if an option needs it.
  std::optional<Position> position;
  /// At most this many threads, at least 1. Default: what the caller's oneTBB arena has.
  std::optional<int> threads;
  /// Called on the calling thread now and then with the fraction done, in [0, 1]. Returning false
  /// ends the call soon with ErrorCode::cancelled. An exception from it ends the call and is passed
  /// on.
  std::function<bool(double)> progress;
};

/// Where the results go.
struct Outputs {
  OutputTensor out;                 // [B, H, n_q, d_v], of q's type
  std::optional<OutputTensor> lse;  // [B, H, n_q, 1], of q's type; see attend()

  Outputs(const OutputTensor& out_) : out(out_) {}  // NOLINT: a lone out reads as one
  Outputs(const OutputTensor& out_, const OutputTensor& lse_) : out(out_), lse(lse_) {}
};

/// For every query row i of q [B, H, n_q, d] against k [B, H_kv, n_k, d] and v [B, H_kv, n_k, d_v]:
///
///     s_j = (scale * q_i) . k_j      w_j = exp((s_j - m) / T) / l      out_i = sum_j w_j v_j
///
/// over the visible keys j, with m = max_j s_j, l = sum_j exp((s_j - m) / T), and, if asked for,
/// lse_i = m / T + ln l (natural logarithm). Scaled dot-product attention of Vaswani et al. 2017,
/// eq. 1, with the running maximum of Milakov and Gimelshein 2018.
///
/// - q, k, v and out have one type, float32 or float64, which is computed in.
/// - H is a multiple of H_kv; query head h reads key-value head h / (H / H_kv).
/// - A row that sees no key gives out = 0 and lse = -inf. A score of -inf hides its key, one of
/// +inf
///   makes its row NaN. Hidden keys and values are never looked at as numbers.
/// - A row's result has the same bits whatever the number of threads, the rows and sequences that
///   came with it, and the instruction set (x86-64 with FMA, AArch64).
/// - The outputs share no memory with each other or with the inputs, except as slots of one fused
///   array (same strides, disjoint slots).
/// - Beyond these arrays it uses a fixed scratch per thread; nothing grows with n_q x n_k.
///
/// Throws Error. Everything is checked before anything is written.
void attend(const Tensor& q, const Tensor& k, const Tensor& v, const Outputs& outputs,
            const Options& options = {});

}  // namespace lookback
