// A call whose arguments fit together, and what they say about each sequence and row.
#pragma once

#include <algorithm>

#include "lookback/attend.hpp"

namespace lookback {

/// One sequence of a batch, or of packed sequences.
struct Sequence {
  std::int64_t index;
  std::int64_t batch;    // along the batch axis of q, k, v and the outputs
  std::int64_t first_q;  // of its queries along the position axis
  std::int64_t n_q;
  std::int64_t first_k;
  std::int64_t n_k;     // keys that are not padding
  std::int64_t offset;  // query row i stands at i + offset
};

/// Keys [first, end) but [gap_first, gap_end).
struct KeyRange {
  std::int64_t first, gap_first, gap_end, end;
};

struct Problem {
  Tensor q, k, v;
  Outputs outputs;
  const Options& options;
  std::int64_t sequences, H, H_kv, d, d_v;
  std::int64_t most_q, most_k;  // of any sequence
  double scale;
  /// Where each row's maximum and 1 / sum go, [B, H, n_q, 2] of the compute type; null: nowhere.
  void* statistics = nullptr;

  bool is_packed() const { return options.q_bounds.has_value(); }
  std::int64_t heads_per_kv_head() const { return H_kv > 0 ? H / H_kv : 1; }
  bool has_rows() const { return sequences > 0 && H > 0 && most_q > 0; }

  Sequence sequence(std::int64_t s) const;
  /// The keys that causal, window, prefix and length leave to query row i.
  KeyRange key_range(const Sequence& sequence, std::int64_t i) const {
    const std::int64_t n_k = sequence.n_k;
    return options.causal || options.window ? positioned_range(sequence, i)
                                            : KeyRange{0, n_k, n_k, n_k};
  }

 private:
  KeyRange positioned_range(const Sequence& sequence, std::int64_t i) const;
};

/// The strides with which a tensor of extents 1 or full is read as if it were full.
Strides broadcast_strides(const Tensor& tensor);

/// The first feature of position i of head h of sequence b.
template <class Pointer>
Pointer* element(Pointer* data, Type type, const Strides& stride, std::int64_t b, std::int64_t h,
                 std::int64_t i) {
  using Byte = std::conditional_t<std::is_const_v<Pointer>, const char, char>;
  const std::int64_t offset = b * stride[0] + h * stride[1] + i * stride[2];
  return static_cast<Pointer*>(static_cast<Byte*>(data) + offset * size_of(type));
}

}  // namespace lookback
