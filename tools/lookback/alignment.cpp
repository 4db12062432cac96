#include "alignment.hpp"

#include "lookback/attend.hpp"

namespace lookback::cli {

Matrix blend_of(const Tensor& q, const Tensor& k, const Tensor& v, const Options& options) {
  Matrix out(q.extent[2], v.extent[3]);
  attend(q, k, v, matrix(out.values.data(), out.rows, out.columns), options);
  return out;
}

Matrix weights_of(const Tensor& q, const Tensor& k, const Options& options) {
  // If value j is 1 in feature j and 0 elsewhere, the blend of row i is its row of weights.
  const std::int64_t n_k = k.extent[2];
  Matrix identity(n_k, n_k);
  for (std::int64_t j = 0; j < n_k; ++j) {
    identity.values[static_cast<std::size_t>(j * n_k + j)] = 1;
  }
  return blend_of(q, k, identity.view(), options);
}

Matrix scores_of(const Tensor& q, const Tensor& k, double scale) {
  // With one key alone, lse = ln exp(s) = s. So: a batch of n_k sequences of one key each, all with
  // the same query, and values without features.
  const std::int64_t n_k = k.extent[2];
  const std::int64_t d = k.extent[3];
  const Tensor queries = {q.data, q.type, {n_k, 1, 1, d}, {0, 0, 0, q.stride[3]}};
  const Tensor keys = {k.data, k.type, {n_k, 1, 1, d}, {k.stride[2], 0, 0, k.stride[3]}};
  const Tensor values = heads_first<const float>(nullptr, n_k, 1, 1, 0);

  Matrix scores(1, n_k);
  Options options;
  options.scale = scale;
  attend(queries, keys, values,
         {heads_first<float>(nullptr, n_k, 1, 1, 0), per_row(scores.values.data(), n_k, 1, 1)},
         options);
  return scores;
}

}  // namespace lookback::cli
