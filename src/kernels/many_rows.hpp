// The kernel for many query rows (prefill): queries in lanes, so that softmax is vertical.
#pragma once

#include "kernels/blend_tile.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/load.hpp"
#include "kernels/score_terms.hpp"
#include "kernels/score_tile.hpp"
#include "kernels/softmax_state.hpp"
#include "kernels/visible_keys.hpp"

namespace lookback::kernels {

template <class T, class A>
struct ManyRows {
  using V = Vec<T, A>;
  using Softmax = SoftmaxState<T, A>;
  static constexpr std::int64_t lanes = kLanes<T, A>;
  static constexpr std::int64_t kTileLanes = kTileVectors * lanes;

  static_assert(kTileLanes <= 64, "a tile's rows are the bits of one word");

  static Sizes sizes(std::int64_t n_rows, std::int64_t d, std::int64_t d_v) {
    const std::int64_t rows = round_up(n_rows, lanes), stride = round_up(d_v, lanes);
    return {rows, stride,
            rows * d + (kKeyBlock + kTileKeys<A>)*kTileLanes + kTileLanes +
                kKeyBlock * (copy_stride<T>(d) + copy_stride<T>(stride))};
  }

  struct Scratch {
    T* queries;  // per tile [d][tile rows], scaled
    T* scores;   // [key][tile rows], then the weights
    T* factor;   // [tile rows]
    T* keys;     // copies, if needed
    T* values;

    Scratch(const RowBlock<T>& block, T* at)
        : queries(at),
          scores(queries + round_up(block.n_rows, lanes) * block.d),
          factor(scores + (kKeyBlock + kTileKeys<A>)*kTileLanes),
          keys(factor + kTileLanes),
          values(keys + kKeyBlock * copy_stride<T>(block.d)) {}
  };

  /// Lanes beyond the last row repeat it.
  static void prepare(const RowBlock<T>& block, const Scratch& scratch) {
    const std::int64_t rows = round_up(block.n_rows, lanes);
    for (std::int64_t r = 0; r < rows; r += lanes) {
      const std::int64_t tile = r / kTileLanes * kTileLanes;
      const std::int64_t width = smaller(kTileLanes, rows - tile);
      T* to = scratch.queries + tile * block.d + (r - tile);
      const void* query[lanes];
      for (std::int64_t i = 0; i < lanes; ++i) {
        query[i] = block.rows[smaller(r + i, block.n_rows - 1)].query;
      }
      with_storage_of<T>(block.query_type, [&]<class S>() {
        for (std::int64_t f = 0; f < block.d; f += lanes) {
          const std::int64_t count = smaller(lanes, block.d - f);
          V column[lanes];
          load_columns<S, T, A>(query, f, count, block.query_feature_stride, column);
          for (std::int64_t i = 0; i < count; ++i) {
            store<T, A>(to + (f + i) * width, column[i] * V(block.scale));
          }
        }
      });
    }
  }

  /// Scores of hidden keys become -inf. bits: per row, from the first key of the tile on.
  template <int Vectors>
  static void hide(const KeyBits (&bits)[Vectors * lanes], std::int64_t from, std::int64_t n_keys,
                   T* scores) {
    constexpr std::int64_t width = Vectors * lanes;
    for (std::int64_t word = from / 64; word * 64 < from + n_keys; ++word) {
      std::uint64_t seen[64] = {};
      for (std::int64_t r = 0; r < width; ++r) seen[r] = bits[r].word[word];
      transpose_bits(seen);
      const std::int64_t end = smaller(from + n_keys, (word + 1) * 64);
      for (std::int64_t j = greater(from, word * 64); j < end; ++j) {
        if (seen[j % 64] == low_bits(width)) continue;
        for (int v = 0; v < Vectors; ++v) {
          T* s = scores + (j - from) * width + v * lanes;
          const Mask<T, A> visible = mask_of_bits<T, A>(seen[j % 64] >> (v * lanes));
          store<T, A>(s, choose(visible, load<T, A>(s), V(-kInfinity<T>)));
        }
      }
    }
  }

  /// The maximum over the keys, in two chains: one would wait for itself.
  template <int Vectors>
  static void column_maxima(const T* scores, std::int64_t n_keys, V (&high)[Vectors]) {
    constexpr std::int64_t width = Vectors * lanes;
    V odd[Vectors];
    for (int v = 0; v < Vectors; ++v) high[v] = odd[v] = V(-kInfinity<T>);
    std::int64_t j = 0;
    for (; j + 2 <= n_keys; j += 2) {
      const T* s = scores + j * width;
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) {
        high[v] = larger(high[v], load<T, A>(s + v * lanes));
        odd[v] = larger(odd[v], load<T, A>(s + width + v * lanes));
      }
    }
    for (int v = 0; v < Vectors; ++v) {
      if (j < n_keys) high[v] = larger(high[v], load<T, A>(scores + j * width + v * lanes));
      high[v] = larger(high[v], odd[v]);
    }
  }

  /// Scores become weights, row sums are brought up to date.
  template <int Vectors>
  static void softmax(T* scores, std::int64_t n_keys, T rate_, T* max, T* sum, T* factor) {
    constexpr std::int64_t width = Vectors * lanes;
    const V rate(rate_);
    V high[Vectors], origin[Vectors];
    Softmax running[Vectors];
    column_maxima<Vectors>(scores, n_keys, high);
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

  /// Keys and values of a block, fetched when the first tile asks for them.
  struct Panels {
    Panel<T> keys{}, values{};
    bool fetched = false;

    void fetch(const RowBlock<T>& block, std::int64_t first, std::int64_t n,
               const Scratch& scratch) {
      if (fetched) return;
      const std::int64_t stride = round_up(block.d_v, lanes);
      keys = load_rows<T, A>(block.keys, first, n, block.d, block.d, true, scratch.keys);
      values = load_rows<T, A>(block.values, first, n, block.d_v, stride, true, scratch.values);
      fetched = true;
    }
  };

  /// Scores of the visible stretch of keys of the block that starts at key `first`, changed by the
  /// terms, -inf where hidden: [visible.from(), visible.to()) of a tile of rows from row `tile` on.
  template <int Vectors>
  static void score(const RowBlock<T>& block, std::int64_t tile, std::int64_t first,
                    const VisibleKeys<Vectors * lanes>& visible, const Panel<T>& keys,
                    const Scratch& scratch) {
    constexpr std::int64_t width = Vectors * lanes;
    const std::int64_t from = visible.from(), n = visible.to() - from;
    const T* k = keys.data + from * keys.stride;
    for (std::int64_t j = 0; j < n; j += kTileKeys<A>) {
      score_tile<Vectors, T, A>(scratch.queries + tile * block.d, k + j * keys.stride, keys.stride,
                                n - j, block.d, scratch.scores + j * width);
    }
    if (block.terms && block.terms->change_scores()) {
      const std::int64_t n_rows = smaller(width, block.n_rows - tile);
      ScoreTerms<T, A>::template apply_to_columns<Vectors>(
          *block.terms, {scratch.scores, 1, width, tile, n_rows, first + from, n});
    }
    if (!visible.whole()) hide<Vectors>(visible.row, from, n, scratch.scores);
  }

  /// One tile of rows, from row `tile` on, against keys [first, end) of a block.
  template <int Vectors>
  static void tile(const RowBlock<T>& block, std::int64_t tile, std::int64_t first,
                   std::int64_t end, bool all_seen, Panels& panels, const State<T>& state,
                   const Scratch& scratch) {
    constexpr std::int64_t width = Vectors * lanes;
    const std::int64_t n_rows = smaller(width, block.n_rows - tile);
    VisibleKeys<width> visible;
    if (all_seen) {
      visible.see_all(end - first);
    } else {
      visible.template look<A>(block, tile, n_rows, first, end - first);
      if (visible.none()) return;
    }
    panels.fetch(block, first, end - first, scratch);
    score<Vectors>(block, tile, first, visible, panels.keys, scratch);
    const std::int64_t from = visible.from(), n = visible.to() - from;
    softmax<Vectors>(scratch.scores, n, block.rate, state.max + tile, state.sum + tile,
                     scratch.factor);
    const std::int64_t stride = round_up(block.d_v, lanes);
    blend_rows<T, A>({scratch.scores, 1, width}, n_rows,
                     panels.values.data + from * panels.values.stride, panels.values.stride, n,
                     scratch.factor, state.blend + tile * stride, stride);
  }

  /// Keys [first, end) of one chunk into the state.
  static void chunk(const RowBlock<T>& block, std::int64_t first, std::int64_t end,
                    const State<T>& state, T* workspace) {
    const Scratch scratch(block, workspace);
    const std::int64_t rows = round_up(block.n_rows, lanes);
    const RangeOfRows range(block.rows, block.n_rows);
    for (std::int64_t j = first; j < end;) {
      const std::int64_t next = smaller((j / kKeyBlock + 1) * kKeyBlock, end);
      const bool all_seen = !block.visibility && range.all_see(j, next);
      Panels panels;
      for (std::int64_t t = 0; t < rows; t += kTileLanes) {
        switch (smaller(kTileLanes, rows - t) / lanes) {
          case 1:
            tile<1>(block, t, j, next, all_seen, panels, state, scratch);
            break;
          case 2:
            tile<2>(block, t, j, next, all_seen, panels, state, scratch);
            break;
          default:
            tile<3>(block, t, j, next, all_seen, panels, state, scratch);
            break;
        }
      }
      j = next;
    }
  }
};

}  // namespace lookback::kernels
