// The kernel for many query rows (prefill): queries in lanes, so that softmax is vertical.
#pragma once

#include "kernels/blend_tile.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/load.hpp"
#include "kernels/score_tile.hpp"
#include "kernels/softmax_state.hpp"

namespace lookback::kernels {

template <class T, class A>
struct ManyRows {
  using V = Vec<T, A>;
  using Softmax = SoftmaxState<T, A>;
  static constexpr std::int64_t lanes = kLanes<T, A>;
  static constexpr std::int64_t kTileLanes = kTileVectors * lanes;

  static Sizes sizes(std::int64_t n_rows, std::int64_t d, std::int64_t d_v) {
    const std::int64_t rows = round_up(n_rows, lanes), stride = round_up(d_v, lanes);
    return {rows, stride,
            rows * d + (kKeyBlock + kTileKeys<A>)*kTileLanes + 3 * kTileLanes +
                kKeyBlock * (d + stride)};
  }

  struct Scratch {
    T* queries;  // per tile [d][tile rows], scaled
    T* scores;   // [key][tile rows], then the weights
    T* factor;   // [tile rows]
    T* first;    // [tile rows]: visible keys, relative to the block
    T* end;
    T* keys;  // copies, if needed
    T* values;

    Scratch(T* at, std::int64_t padded_rows, std::int64_t d)
        : queries(at),
          scores(queries + padded_rows * d),
          factor(scores + (kKeyBlock + kTileKeys<A>)*kTileLanes),
          first(factor + kTileLanes),
          end(first + kTileLanes),
          keys(end + kTileLanes),
          values(keys + kKeyBlock * d) {}
  };

  static void prepare(const RowBlock<T>& block, const Scratch& scratch) {
    const std::int64_t rows = round_up(block.n_rows, lanes);
    for (std::int64_t tile = 0; tile < rows; tile += kTileLanes) {
      const std::int64_t width = smaller(kTileLanes, rows - tile);
      T* to = scratch.queries + tile * block.d;
      for (std::int64_t r = 0; r < width; ++r) {
        if (tile + r < block.n_rows) {
          const T* query = static_cast<const T*>(block.rows[tile + r].query);
          for (std::int64_t f = 0; f < block.d; ++f) {
            to[f * width + r] = query[f * block.query_feature_stride] * block.scale;
          }
        } else {
          for (std::int64_t f = 0; f < block.d; ++f) to[f * width + r] = T(0);
        }
      }
    }
  }

  /// Scores of keys [from, to) of the block become -inf in the rows that do not see them.
  template <int Vectors>
  static void hide(const Scratch& scratch, T* scores, std::int64_t from, std::int64_t to) {
    for (int v = 0; v < Vectors; ++v) {
      const V first = load<T, A>(scratch.first + v * lanes),
              end = load<T, A>(scratch.end + v * lanes);
      for (std::int64_t j = from; j < to; ++j) {
        T* s = scores + j * Vectors * lanes + v * lanes;
        const V key(static_cast<T>(j));
        store<T, A>(s, choose(first <= key && key < end, load<T, A>(s), V(-kInfinity<T>)));
      }
    }
  }

  /// Scores become weights, row sums are brought up to date.
  template <int Vectors>
  static void softmax(T* scores, std::int64_t n_keys, T rate_, T* max, T* sum, T* factor) {
    constexpr std::int64_t width = Vectors * lanes;
    const V rate(rate_);
    V high[Vectors], origin[Vectors];
    Softmax running[Vectors];
    for (int v = 0; v < Vectors; ++v) high[v] = V(-kInfinity<T>);
    for (std::int64_t j = 0; j < n_keys; ++j) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) {
        high[v] = larger(high[v], load<T, A>(scores + j * width + v * lanes));
      }
    }
    for (int v = 0; v < Vectors; ++v) {
      running[v] = Softmax::at(max + v * lanes, sum + v * lanes);
      store<T, A>(factor + v * lanes, running[v].raise(high[v], rate));
      origin[v] = running[v].origin();
    }
    for (std::int64_t j = 0; j < n_keys; ++j) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) {
        T* s = scores + j * width + v * lanes;
        const V w = Softmax::weight(load<T, A>(s), origin[v], rate);
        running[v].sum = running[v].sum + w;
        store<T, A>(s, w);
      }
    }
    for (int v = 0; v < Vectors; ++v) running[v].put(max + v * lanes, sum + v * lanes);
  }

  /// Keys that some row of a tile sees, and keys that all of them see.
  struct Seen {
    std::int64_t first, end, all_first, all_end;
  };

  static Seen seen_by(const Row* rows, std::int64_t n_rows) {
    Seen seen{rows[0].first_key, rows[0].end_key, rows[0].first_key, rows[0].end_key};
    for (std::int64_t r = 1; r < n_rows; ++r) {
      seen.first = smaller(seen.first, rows[r].first_key);
      seen.end = greater(seen.end, rows[r].end_key);
      seen.all_first = greater(seen.all_first, rows[r].first_key);
      seen.all_end = smaller(seen.all_end, rows[r].end_key);
    }
    return seen;
  }

  /// One tile of rows, from row `tile` on, against keys [first, end) of a block.
  template <int Vectors>
  static void tile(const RowBlock<T>& block, std::int64_t tile, std::int64_t first,
                   std::int64_t end, Panel<T> keys, Panel<T> values, const State<T>& state,
                   const Scratch& scratch) {
    const std::int64_t n_rows = smaller(Vectors * lanes, block.n_rows - tile);
    const Row* rows = block.rows + tile;
    const Seen seen = seen_by(rows, n_rows);
    const std::int64_t from = greater(first, seen.first), to = smaller(end, seen.end),
                       n = to - from;
    if (n <= 0) return;
    const T* k = keys.data + (from - first) * keys.stride;
    const T* v = values.data + (from - first) * values.stride;
    for (std::int64_t j = 0; j < n; j += kTileKeys<A>) {
      score_tile<Vectors, T, A>(scratch.queries + tile * block.d, k + j * keys.stride, keys.stride,
                                n - j, block.d, scratch.scores + j * Vectors * lanes);
    }
    if (seen.all_first > from || seen.all_end < to) {
      for (std::int64_t r = 0; r < Vectors * lanes; ++r) {
        const Row& row = rows[smaller(r, n_rows - 1)];
        scratch.first[r] = static_cast<T>(clamp(row.first_key - from, 0, n));
        scratch.end[r] = static_cast<T>(clamp(row.end_key - from, 0, n));
      }
      const std::int64_t all_from = clamp(seen.all_first - from, 0, n);
      const std::int64_t all_to = clamp(seen.all_end - from, all_from, n);
      hide<Vectors>(scratch, scratch.scores, 0, all_from);
      hide<Vectors>(scratch, scratch.scores, all_to, n);
    }
    softmax<Vectors>(scratch.scores, n, block.rate, state.max + tile, state.sum + tile,
                     scratch.factor);
    const std::int64_t stride = round_up(block.d_v, lanes);
    blend_rows<T, A>({scratch.scores, 1, Vectors * lanes}, n_rows, v, values.stride, n,
                     scratch.factor, state.blend + tile * stride, stride);
  }

  /// Keys [first, end) of one chunk into the state.
  static void chunk(const RowBlock<T>& block, std::int64_t first, std::int64_t end,
                    const State<T>& state, T* workspace) {
    const std::int64_t rows = round_up(block.n_rows, lanes);
    const Scratch scratch(workspace, rows, block.d);
    const std::int64_t stride = round_up(block.d_v, lanes);
    for (std::int64_t j = first; j < end;) {
      const std::int64_t next = smaller((j / kKeyBlock + 1) * kKeyBlock, end), n = next - j;
      const auto keys = load_rows<T>(block.keys, j, n, block.d, block.d, true, scratch.keys);
      const auto values = load_rows<T>(block.values, j, n, block.d_v, stride, true, scratch.values);
      for (std::int64_t t = 0; t < rows; t += kTileLanes) {
        switch (smaller(kTileLanes, rows - t) / lanes) {
          case 1:
            tile<1>(block, t, j, next, keys, values, state, scratch);
            break;
          case 2:
            tile<2>(block, t, j, next, keys, values, state, scratch);
            break;
          default:
            tile<3>(block, t, j, next, keys, values, state, scratch);
            break;
        }
      }
      j = next;
    }
  }
};

}  // namespace lookback::kernels
