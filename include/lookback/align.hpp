// align(): where each position looked. Views of the alignment matrix, exact, without the matrix.
#pragma once

#include <optional>
#include <span>

#include "lookback/attend.hpp"

namespace lookback {

/// A score on its way: scale * q.k; after the softcap; after ALiBi, bias, hook and masks (hidden is
/// -inf), before the temperature; and the weight it becomes.
enum class Stage : std::uint8_t { scaled, capped, final, weights };

/// What becomes of the heads: one view for each, or views of the mean or the maximum over the
/// heads.
enum class Heads : std::uint8_t { each, mean, max };

enum class Pooling : std::uint8_t { mean, max };

/// Chosen rows in full.
struct RowsView {
  std::span<const std::int64_t> rows = {};  // in any order, repeated or not, each from 0 to n_q - 1
  Stage stage = Stage::weights;
  OutputTensor values = {};  // [B, H, rows, n_k]
};

/// The heaviest keys of every row, heaviest first, ties to the lower index. Missing ones (hidden,
/// or beyond the number of keys) have index -1 and weight 0.
struct TopView {
  OutputTensor index = {};   // [B, H, n_q, k], int64; k from 1 to 64
  OutputTensor weight = {};  // [B, H, n_q, k]
};

/// One number per row, [B, H, n_q, 1] each; any of them.
struct SummaryView {
  std::optional<OutputTensor> entropy = {};   // -sum_j w_j ln w_j, in nats
  std::optional<OutputTensor> largest = {};   // max_j w_j
  std::optional<OutputTensor> position = {};  // sum_j w_j j / sum_j w_j; NaN for a row that sees nothing
  std::optional<OutputTensor> distance = {};  // sum_j w_j |p_i - j| / sum_j w_j; likewise
};

/// What each key receives, [B, H, n_k, 1] each; any of them.
struct ReceivedView {
  std::optional<OutputTensor> sum = {};  // over rows
  std::optional<OutputTensor> max = {};
  std::optional<std::int64_t> last = {};  // only the last this many rows
};

/// The map, or the part [first_row, end_row) x [first_key, end_key) of it, in cells. Cell (r, c) of
/// R x C covers rows floor(r n / R) to floor((r + 1) n / R) of the part's n rows, and keys
/// likewise; hidden places count as 0.
struct PooledView {
  OutputTensor cells = {};  // [B, H, R, C]; R and C at most the part's rows and keys
  Pooling pooling = Pooling::mean;
  struct Region {
    std::int64_t first_row, end_row, first_key, end_key;
  };
  std::optional<Region> region = {};  // default: everything
};

/// Mass by distance, summed over rows.
struct DistanceView {
  /// [B, H, D, 1]: weight at |p_i - j| = 0, 1, ..., the last one taking all beyond; or, if
  /// is_signed, at p_i - j = -(D - 1) / 2, ..., (D - 1) / 2 for odd D, both ends taking all beyond.
  std::optional<OutputTensor> mass = {};
  bool is_signed = false;
  /// [B, H, 1, 1]: the share of all weight that goes to keys j < first.
  std::optional<OutputTensor> share = {};
  std::int64_t first = 1;
};

/// What is asked for: any of these. Results are float64 with float64 q, else float32. With heads
/// mean or max every H above is 1, and the views are those of the reduced matrix.
struct Views {
  std::optional<RowsView> rows = {};
  std::optional<TopView> top = {};
  std::optional<SummaryView> summary = {};
  std::optional<ReceivedView> received = {};
  std::optional<PooledView> pooled = {};
  std::optional<DistanceView> distances = {};
  Heads heads = Heads::each;
  /// lse per head, [B, H, n_q, 1] also if heads are reduced.
  std::optional<OutputTensor> lse = {};
};

/// Views of the weights that attend() gives with the same q, k and options: exact (the same scores,
/// bit for bit), in memory that does not grow with n_q x n_k. Weights of a row sum to 1 less the
/// sink's share, or to 0 if it sees nothing. Takes two passes over the keys: maximum and sum, then
/// weights. Sums over rows are taken in a fixed order, so the bit promises of attend() hold.
///
/// Packed sequences: rows are numbered by token, keys within their own sequence (received: by
/// token); rows hold as many keys as k has tokens, 0 or -inf beyond the sequence's own; pooled has
/// no meaning. Throws Error. Everything is checked before anything is written.
LOOKBACK_API void align(const Tensor& q, const Tensor& k, const Views& views,
                        const Options& options = {});

/// The same, and the context of attend() on the way.
LOOKBACK_API void align(const Tensor& q, const Tensor& k, const Tensor& v, const OutputTensor& out,
                        const Views& views, const Options& options = {});

}  // namespace lookback
