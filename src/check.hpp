// Everything that can be wrong with a call is found here, before anything is written.
#pragma once

#include "lookback/attend.hpp"

namespace lookback {

/// A call whose arguments fit together, with defaults resolved.
struct Problem {
  Tensor q, k, v;
  OutputTensor out;
  std::optional<OutputTensor> lse;
  std::int64_t B, H, H_kv, n_q, n_k, d, d_v;
  double scale;
  double temperature;
  bool causal;
  std::int64_t offset;  // query row i stands at i + offset; no larger than matters

  std::int64_t heads_per_kv_head() const { return H_kv > 0 ? H / H_kv : 1; }
  bool has_rows() const { return B > 0 && H > 0 && n_q > 0; }
};

/// Throws Error (invalid_argument) with one sentence.
Problem check(const Tensor& q, const Tensor& k, const Tensor& v, const Outputs& outputs,
              const Options& options);

}  // namespace lookback
