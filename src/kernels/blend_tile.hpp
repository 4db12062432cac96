// The weighted sum of values of a register tile: rows times up to 3 vectors of value features.
#pragma once

#include "kernels/score_tile.hpp"
#include "kernels/simd.hpp"

namespace lookback::kernels {

/// Weights of a tile: weight of (row, key) at data[row * row_stride + key * key_stride].
template <class T>
struct Weights {
  const T* data;
  std::int64_t row_stride;
  std::int64_t key_stride;
};

/// Rows per tile: with kTileVectors vectors of sums each, as many as score_tile has keys.
template <class A>
inline constexpr int kTileRows = kTileKeys<A>;

/// blend = blend * factor, then += w_key * v_key in key order.
template <int Rows, int Vectors, class T, class A>
inline void blend_tile(const Weights<T>& w, const T* v, std::int64_t v_stride, std::int64_t n_keys,
                       const T* factor, T* blend, std::int64_t blend_stride) {
  constexpr int lanes = kLanes<T, A>;
  Vec<T, A> sum[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < Vectors; ++c) {
      sum[r][c] = load<T, A>(blend + r * blend_stride + c * lanes) * Vec<T, A>(factor[r]);
    }
  }
  const T* weight = w.data;
  for (std::int64_t j = 0; j < n_keys; ++j, weight += w.key_stride, v += v_stride) {
    Vec<T, A> value[Vectors];
#pragma GCC unroll 8
    for (int c = 0; c < Vectors; ++c) {
      value[c] = load<T, A>(v + c * lanes);
      keep_in_register(value[c]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const Vec<T, A> p(weight[r * w.row_stride]);
#pragma GCC unroll 8
      for (int c = 0; c < Vectors; ++c) sum[r][c] = multiply_add(p, value[c], sum[r][c]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < Vectors; ++c) {
      store<T, A>(blend + r * blend_stride + c * lanes, sum[r][c]);
    }
  }
}

/// The same for n_rows rows and all features, tile by tile: a panel of kTileVectors vectors of
/// every value stays in L1 while the rows pass over it.
template <class T, class A>
inline void blend_rows(const Weights<T>& w, std::int64_t n_rows, const T* v, std::int64_t v_stride,
                       std::int64_t n_keys, const T* factor, T* blend, std::int64_t blend_stride) {
  constexpr std::int64_t lanes = kLanes<T, A>;
  const auto panel = [&]<int Vectors>(std::int64_t c) {
    std::int64_t r = 0;
    const auto rows = [&]<int Rows>() {
      for (; n_rows - r >= Rows; r += Rows) {
        blend_tile<Rows, Vectors, T, A>({w.data + r * w.row_stride, w.row_stride, w.key_stride},
                                        v + c, v_stride, n_keys, factor + r,
                                        blend + r * blend_stride + c, blend_stride);
      }
    };
    rows.template operator()<kTileRows<A>>();
    if constexpr (kTileRows < A >> 4) rows.template operator()<4>();
    rows.template operator()<2>();
    rows.template operator()<1>();
  };
  std::int64_t c = 0;
  for (; blend_stride - c >= kTileVectors * lanes; c += kTileVectors * lanes) {
    panel.template operator()<kTileVectors>(c);
  }
  if (blend_stride - c == 2 * lanes) panel.template operator()<2>(c);
  if (blend_stride - c == lanes) panel.template operator()<1>(c);
}

/// Leaves out the hidden keys of one row (weights of -0.0), where they must not be multiplied by 0
/// because a hidden value may be NaN or infinite. The same sums in the same order.
template <class T, class A>
inline void blend_visible(const T* w, const T* v, std::int64_t v_stride, std::int64_t n_keys,
                          T factor, T* blend, std::int64_t blend_stride) {
  using V = Vec<T, A>;
  for (std::int64_t c = 0; c < blend_stride; c += kLanes<T, A>) {
    V sum = load<T, A>(blend + c) * V(factor);
    for (std::int64_t j = 0; j < n_keys; ++j) {
      if (!__builtin_signbit(w[j]))
        sum = multiply_add(V(w[j]), load<T, A>(v + j * v_stride + c), sum);
    }
    store<T, A>(blend + c, sum);
  }
}

}  // namespace lookback::kernels
