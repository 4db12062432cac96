// Scores and weights as numbers, asked of the engine, which itself never stores them.
#pragma once

#include <cstdint>
#include <vector>

#include "lookback/attend.hpp"

namespace lookback::cli {

/// A small dense matrix, row by row.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<float> values;

  Matrix(std::int64_t rows_, std::int64_t columns_)
      : rows(rows_), columns(columns_), values(static_cast<std::size_t>(rows_ * columns_)) {}
  Matrix(std::int64_t rows_, std::int64_t columns_, std::vector<float> values_)
      : rows(rows_), columns(columns_), values(std::move(values_)) {}

  float at(std::int64_t row, std::int64_t column) const {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
  Tensor view() const { return matrix(values.data(), rows, columns); }
};

/// softmax(scale * q k^T / T), [n_q, n_k], for one head.
Matrix weights_of(const Tensor& q, const Tensor& k, const Options& options);

/// scale * q k^T for one query row, [1, n_k].
Matrix scores_of(const Tensor& q, const Tensor& k, double scale);

/// attend() itself: the blend, [n_q, d_v].
Matrix blend_of(const Tensor& q, const Tensor& k, const Tensor& v, const Options& options);

}  // namespace lookback::cli
