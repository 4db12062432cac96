// The weighted sum of values of a register tile: rows times a few vectors of value features.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/load.hpp"
#include "kernels/score_tile.hpp"
#include "kernels/simd.hpp"

namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA {

/// Weights of a tile: weight of (row, key) at data[row * row_stride + key * key_stride].
template <class T>
struct Weights {
  const T* data;
  std::int64_t row_stride;
  std::int64_t key_stride;
};

/// blend = blend * factor (0 if factor is null), then += w_key * v_key in key order. Values of
/// storage type S are widened on the way. per_key(j) is called before key j.
template <int Rows, int Vectors, class T, class A, class S, class PerKey>
[[gnu::noinline]] inline void blend_tile(const Weights<T>& w, const S* v, std::int64_t v_stride,
                                         std::int64_t n_keys, const T* factor, T* blend,
                                         std::int64_t blend_stride, const PerKey& per_key) {
  constexpr int lanes = kLanes<T, A>;
  Vec<T, A> sum[Rows][Vectors];
  if (factor) {
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (int c = 0; c < Vectors; ++c) {
        sum[r][c] = load<T, A>(blend + r * blend_stride + c * lanes) * Vec<T, A>(factor[r]);
      }
    }
  } else {
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (int c = 0; c < Vectors; ++c) sum[r][c] = Vec<T, A>(T(0));
    }
  }
  const T* weight = w.data;
  // 2 to 4 % where a neighbour shares the core and every instruction counts.
#pragma GCC unroll 2
  for (std::int64_t j = 0; j < n_keys; ++j, weight += w.key_stride, v += v_stride) {
    per_key(j);
    Vec<T, A> value[Vectors];
#pragma GCC unroll 8
    for (int c = 0; c < Vectors; ++c) {
      value[c] = load_widened<S, T, A>(v + c * lanes);
      if constexpr (Rows > 1) keep_in_register(value[c]);
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const Vec<T, A> p(weight[r * w.row_stride]);
#pragma GCC unroll 8
      for (int c = 0; c < Vectors; ++c) sum[r][c] = multiply_add(p, value[c], sum[r][c]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < Vectors; ++c) {
      store<T, A>(blend + r * blend_stride + c * lanes, sum[r][c]);
    }
  }
}

/// Vectors per tile of that many rows: as many sums as the registers hold, the wider the fewer
/// rows, so that few rows read each value in one go.
template <class A>
constexpr int tile_vectors(int rows) {
  const int sums = kTileKeys<A> * kTileVectors;
  const int fitting = sums / rows;
  return fitting > 8 ? 8 : fitting;
}

/// Rows rows against all features, panel by panel of up to Vectors vectors. Values come into L1 a
/// few keys before they are needed.
template <int Rows, int Vectors, class T, class A, class S, class PerKey>
inline void blend_panels(const Weights<T>& w, const S* v, std::int64_t v_stride,
                         std::int64_t n_keys, const T* factor, T* blend, std::int64_t blend_stride,
                         std::int64_t c, const PerKey& per_key) {
  constexpr std::int64_t lanes = kLanes<T, A>, keys_ahead = 16;
  while (blend_stride - c >= Vectors * lanes) {
    const S* const values = v + c;
    const auto per_value = [&](std::int64_t j) {
      per_key(j);
      const S* const later = values + (j + keys_ahead) * v_stride;
      constexpr std::int64_t line = kCacheLine / std::int64_t{sizeof(S)};
#pragma GCC unroll 8
      for (std::int64_t i = 0; i < Vectors * lanes; i += line) prefetch_near(later + i);
    };
    blend_tile<Rows, Vectors, T, A>(w, values, v_stride, n_keys, factor, blend + c, blend_stride,
                                    per_value);
    c += Vectors * lanes;
  }
  if constexpr (Vectors > 1) {
    if (c < blend_stride) {
      blend_panels<Rows, (Vectors > 4 ? 4 : Vectors - 1), T, A>(w, v, v_stride, n_keys, factor,
                                                                blend, blend_stride, c, per_key);
    }
  }
}

/// Rows of a tile that takes a panel of values: as many sums as a score tile has.
template <class A>
constexpr int panel_rows() {
  return kTileKeys<A> * kTileVectors / kPanelVectors;
}

/// The same for n_rows rows, tile by tile, values outside: the rows pass over one panel of values
/// after the other.
template <class T, class A, class PerKey>
inline void blend_rows(const Weights<T>& w, std::int64_t n_rows, const Panels<T>& v,
                       std::int64_t first_key, std::int64_t n_keys, const T* factor, T* blend,
                       std::int64_t blend_stride, const PerKey& per_key) {
  constexpr std::int64_t lanes = kLanes<T, A>, width = kPanelVectors * lanes;
  constexpr int most_rows = panel_rows<A>();
  const auto panel = [&]<int Vectors>(std::int64_t c) {
    const T* values = v.data + c / width * v.step + first_key * v.stride;
    std::int64_t r = 0;
    const auto rows = [&]<int Rows>() {
      for (; n_rows - r >= Rows; r += Rows) {
        blend_tile<Rows, Vectors, T, A>({w.data + r * w.row_stride, w.row_stride, w.key_stride},
                                        values, v.stride, n_keys, factor ? factor + r : nullptr,
                                        blend + r * blend_stride + c, blend_stride, per_key);
      }
    };
    rows.template operator()<most_rows>();
    if constexpr (most_rows > 8) rows.template operator()<8>();
    rows.template operator()<4>();
    rows.template operator()<2>();
    rows.template operator()<1>();
  };
  std::int64_t c = 0;
  for (; blend_stride - c >= width; c += width) panel.template operator()<kPanelVectors>(c);
  if (c < blend_stride) panel.template operator()<1>(c);
}

/// Leaves out the hidden keys of one row (weights of -0.0), where they must not be multiplied by 0
/// because a hidden value may be NaN or infinite. The same sums in the same order.
template <class T, class A, class S>
inline void blend_visible(const T* w, const S* v, std::int64_t v_stride, std::int64_t n_keys,
                          T factor, T* blend, std::int64_t blend_stride) {
  using V = Vec<T, A>;
  for (std::int64_t c = 0; c < blend_stride; c += kLanes<T, A>) {
    V sum = load<T, A>(blend + c) * V(factor);
    for (std::int64_t j = 0; j < n_keys; ++j) {
      if (!__builtin_signbit(w[j]))
        sum = multiply_add(V(w[j]), load_widened<S, T, A>(v + j * v_stride + c), sum);
    }
    store<T, A>(blend + c, sum);
  }
}

}  // namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA
