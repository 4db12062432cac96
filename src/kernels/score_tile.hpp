// Scores of a register tile: kTileKeys keys times up to kTileVectors vectors of query rows.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/simd.hpp"

namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA {

/// 3 vectors of rows by 8 keys: 24 sums, 3 vectors of q and a broadcast key fit 32 registers;
/// 3 by 4 fits 16. Per feature 11 (7) loads feed 24 (12) multiply-adds, and there are more sums
/// than the latency of 4 cycles times 2 units asks for.
inline constexpr int kTileVectors = 3;
template <class A>
inline constexpr int kTileKeys = kRegisters<A> == 32 ? 8 : 4;

/// What a tile does while features, or keys, go by: nothing.
struct Nothing {
  void operator()(auto...) const {}
};

/// s[key][row] = q_row . k_key, one chain of multiply-adds over ascending features from 0.
/// q is [d][Vectors * lanes]; n_keys keys are read, and whole tiles of s written, the rest of the
/// last one with the last key. high is raised to each row's largest. per_tile() is called before
/// each tile of keys, per_feature(f) before feature f of each. A function of its own, so that its
/// registers are its own.
template <int Vectors, class T, class A, class PerTile, class PerFeature>
[[gnu::noinline]] inline void score_tiles(const T* q, const T* k, std::int64_t k_stride,
                                          std::int64_t n_keys, std::int64_t d, T* s, T* high,
                                          const PerTile& per_tile, const PerFeature& per_feature) {
  constexpr int keys = kTileKeys<A>, lanes = kLanes<T, A>;
  for (std::int64_t j = 0; j < n_keys; j += keys) {
    per_tile();
    const T* key[keys];
    Vec<T, A> sum[keys][Vectors];
#pragma GCC unroll 8
    for (int c = 0; c < keys; ++c) {
      key[c] = k + (j + c < n_keys ? j + c : n_keys - 1) * k_stride;
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sum[c][v] = Vec<T, A>(T(0));
    }
    for (std::int64_t f = 0; f < d; ++f) {
      per_feature(f);
      Vec<T, A> row[Vectors];
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) {
        row[v] = load<T, A>(q + (f * Vectors + v) * lanes);
        keep_in_register(row[v]);
      }
#pragma GCC unroll 8
      for (int c = 0; c < keys; ++c) {
        const Vec<T, A> feature(key[c][f]);
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v) sum[c][v] = multiply_add(feature, row[v], sum[c][v]);
      }
    }
    T* const to = s + j * Vectors * lanes;
#pragma GCC unroll 8
    for (int c = 0; c < keys; ++c) {
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) store<T, A>(to + (c * Vectors + v) * lanes, sum[c][v]);
    }
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      Vec<T, A> most = load<T, A>(high + v * lanes);
#pragma GCC unroll 8
      for (int c = 0; c < keys; ++c) most = larger(most, sum[c][v]);
      store<T, A>(high + v * lanes, most);
    }
  }
}

}  // namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA
