// The kernel for many query rows (prefill): queries in lanes, so that softmax is vertical.
#pragma once

#include "kernels/blend_tile.hpp"
#include "kernels/fetch.hpp"
#include "kernels/isa.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/load.hpp"
#include "kernels/score_terms.hpp"
#include "kernels/score_tile.hpp"
#include "kernels/softmax_state.hpp"
#include "kernels/visible_keys.hpp"

namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA {

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
            rows * d + (kKeyBlock + kTileKeys<A>)*kTileLanes + 2 * kTileLanes +
                kKeyBlock * (copy_stride<T>(d) + round_up(stride, 2 * lanes))};
  }

  struct Scratch {
    T* queries;  // per tile [d][tile rows], scaled
    T* scores;   // [key][tile rows], then the weights
    T* high;     // [tile rows]: maximum of a block's scores
    T* factor;   // [tile rows]
    T* keys;     // copies, if needed
    T* values;

    Scratch(const RowBlock<T>& block, T* at)
        : queries(at),
          scores(queries + round_up(block.n_rows, lanes) * block.d),
          high(scores + (kKeyBlock + kTileKeys<A>)*kTileLanes),
          factor(high + kTileLanes),
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
          const V scale(block.scale);
          use_columns<S, T, A>(query, f, smaller(lanes, block.d - f), block.query_feature_stride,
                               [&](std::int64_t i, const V& column) {
                                 store<T, A>(to + (f + i) * width, column * scale);
                               });
        }
      });
    }
  }

  /// What is left of scores once terms have changed them and keys are hidden: hidden ones become
  /// -inf, and the maxima are found again.
  template <int Vectors>
  static void hide(const VisibleKeys<Vectors * lanes>& visible, const Scratch& scratch) {
    constexpr std::int64_t width = Vectors * lanes;
    const std::int64_t from = visible.from(), to = visible.to();
    V high[Vectors];
    for (int v = 0; v < Vectors; ++v) high[v] = V(-kInfinity<T>);
    constexpr std::int64_t bits = 8 * sizeof(IntOf<T>);
    for (std::int64_t first = from / bits * bits; first < to; first += bits) {
      alignas(64) IntOf<T> word[width];
      visible.words_from(first, word);
      const std::int64_t end = smaller(to, first + bits);
      for (std::int64_t j = greater(from, first); j < end; ++j) {
        T* scores = scratch.scores + (j - from) * width;
        const IntVec<T, A> bit(static_cast<IntOf<T>>(std::uint64_t{1} << (j - first)));
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) {
          const auto seen = has_bit<T, A>(IntVec<T, A>::load_unaligned(word + v * lanes), bit);
          const V s = choose(seen, load<T, A>(scores + v * lanes), V(-kInfinity<T>));
          store<T, A>(scores + v * lanes, s);
          high[v] = larger(high[v], s);
        }
      }
    }
    for (int v = 0; v < Vectors; ++v) store<T, A>(scratch.high + v * lanes, high[v]);
  }

  /// In two chains: one would wait for itself.
  template <int Vectors>
  static void find_maxima(std::int64_t n_keys, const Scratch& scratch) {
    V high[2 * Vectors];
    for (V& h : high) h = V(-kInfinity<T>);
    const std::int64_t n = n_keys * Vectors;
    for (std::int64_t i = 0; i < n; i += 2 * Vectors) {
      const T* scores = scratch.scores + i * lanes;
      const int there = n - i < 2 * Vectors ? Vectors : 2 * Vectors;
#pragma GCC unroll 8
      for (int v = 0; v < 2 * Vectors; ++v) {
        if (v < there) high[v] = larger(high[v], load<T, A>(scores + v * lanes));
      }
    }
    for (int v = 0; v < Vectors; ++v) {
      store<T, A>(scratch.high + v * lanes, larger(high[v], high[v + Vectors]));
    }
  }

  /// Scores become weights, row sums are brought up to date.
  template <int Vectors>
  static void softmax(std::int64_t n_keys, T rate_, T* max, T* sum, const Scratch& scratch) {
    constexpr std::int64_t width = Vectors * lanes;
    const V rate(rate_);
    V origin[Vectors];
    Softmax running[Vectors];
    for (int v = 0; v < Vectors; ++v) {
      running[v] = Softmax::at(max + v * lanes, sum + v * lanes);
      const V high = load<T, A>(scratch.high + v * lanes);
      store<T, A>(scratch.factor + v * lanes, running[v].raise(high, rate));
      origin[v] = running[v].origin();
    }
    const auto weigh = [&]<int keys>(T* at) {
      V w[keys * Vectors], from[keys * Vectors];
#pragma GCC unroll 8
      for (int i = 0; i < keys * Vectors; ++i) {
        w[i] = load<T, A>(at + i * lanes);
        from[i] = origin[i % Vectors];
      }
      Softmax::weigh(w, from, rate);
#pragma GCC unroll 8
      for (int i = 0; i < keys * Vectors; ++i) {
        running[i % Vectors].sum = running[i % Vectors].sum + w[i];
        store<T, A>(at + i * lanes, w[i]);
      }
    };
    constexpr int keys = kRegisters<A> == 32 ? 2 : 1;  // side by side, as far as registers go
    std::int64_t j = 0;
    T* scores = scratch.scores;
    for (; j + keys <= n_keys; j += keys) weigh.template operator()<keys>(scores + j * width);
    for (; j < n_keys; ++j) weigh.template operator()<1>(scores + j * width);
    for (int v = 0; v < Vectors; ++v) running[v].put(max + v * lanes, sum + v * lanes);
  }

  /// Keys and values of a block, loaded when the first tile asks for them, while those of the next
  /// block are fetched.
  struct KeyBlock {
    std::int64_t first, end;
    BlockFetch next;
    std::int64_t pace;  // per score tile
    bool loaded = false;
    Panel<T> keys{};
    Panels<T> values{};

    void load(const RowBlock<T>& block, const Scratch& scratch) {
      if (loaded) return;
      const std::int64_t stride = round_up(block.d_v, lanes), n = end - first;
      keys = load_rows<T, A>(block.keys, first, n, block.d, block.d, true, scratch.keys);
      values = load_panels<T, A>(block.values, first, n, block.d_v, stride,
                                 block.n_rows >= 4 * kTileLanes, scratch.values);
      loaded = true;
    }
  };

  /// Scores of the visible stretch [visible.from(), visible.to()) of the keys for a tile of rows
  /// from row `tile` on, changed by the terms, -inf where hidden, and their maxima. keys: those
  /// from `first` on. per_tile() is called before each register tile.
  template <int Vectors, class PerTile>
  static void score(const RowBlock<T>& block, std::int64_t tile, std::int64_t first,
                    const Panel<T>& keys, const VisibleKeys<Vectors * lanes>& visible,
                    const Scratch& scratch, const PerTile& per_tile) {
    constexpr std::int64_t width = Vectors * lanes;
    const std::int64_t from = visible.from(), n = visible.to() - from;
    for (int v = 0; v < Vectors; ++v) store<T, A>(scratch.high + v * lanes, V(-kInfinity<T>));
    const T* k = keys.data + from * keys.stride;
    for (std::int64_t j = 0; j < n; j += kTileKeys<A>) {
      per_tile();
      score_tile<Vectors, T, A>(scratch.queries + tile * block.d, k + j * keys.stride, keys.stride,
                                n - j, block.d, scratch.scores + j * width, scratch.high);
    }
    const bool changed = block.terms && block.terms->change_scores();
    if (changed) {
      const std::int64_t n_rows = smaller(width, block.n_rows - tile);
      ScoreTerms<T, A>::template apply_to_columns<Vectors>(
          *block.terms, {scratch.scores, 1, width, tile, n_rows, first + from, n});
    }
    if (!visible.whole()) {
      hide<Vectors>(visible, scratch);
    } else if (changed) {
      find_maxima<Vectors>(n, scratch);
    }
  }

  /// One tile of rows, from row `tile` on, against a block of keys.
  template <int Vectors>
  static void tile(const RowBlock<T>& block, std::int64_t tile, KeyBlock& keys, bool all_seen,
                   const State<T>& state, const Scratch& scratch) {
    constexpr std::int64_t width = Vectors * lanes;
    const std::int64_t n_rows = smaller(width, block.n_rows - tile);
    VisibleKeys<width> visible;
    if (all_seen) {
      visible.see_all(keys.end - keys.first);
    } else {
      visible.template look<A>(block, tile, n_rows, keys.first, keys.end - keys.first);
      if (visible.none()) return;
    }
    keys.load(block, scratch);
    // What comes next is fetched a little at a time: the next block's keys and values, this tile's
    // bias, the next tile's mask.
    constexpr std::int64_t rows_per_fetch = kTileLanes * kTileKeys<A> / kKeyBlock + 1;
    const bool last = tile + width >= block.n_rows;
    const std::int64_t next_tile = last ? 0 : tile + width;
    std::int64_t row = 0;
    score<Vectors>(block, tile, keys.first, keys.keys, visible, scratch, [&] {
      keys.next.fetch(keys.pace);
      for (std::int64_t i = 0; i < rows_per_fetch && row < n_rows; ++i, ++row) {
        fetch_bias(block, tile + row, keys.first);
        fetch_mask(block, smaller(next_tile + row, block.n_rows - 1), last ? keys.end : keys.first);
      }
    });
    const std::int64_t from = visible.from(), n = visible.to() - from;
    softmax<Vectors>(n, block.rate, state.max + tile, state.sum + tile, scratch);
    const std::int64_t stride = round_up(block.d_v, lanes);
    blend_rows<T, A>({scratch.scores, 1, width}, n_rows, keys.values, from, n, scratch.factor,
                     state.blend + tile * stride, stride);
  }

  /// Keys [first, end) of one chunk into the state.
  static void chunk(const RowBlock<T>& block, const RangeOfRows& range, std::int64_t first,
                    std::int64_t end, const State<T>& state, T* workspace) {
    const Scratch scratch(block, workspace);
    const std::int64_t rows = round_up(block.n_rows, lanes);
    for (std::int64_t j = first; j < end;) {
      const std::int64_t next = smaller((j / kKeyBlock + 1) * kKeyBlock, end);
      const bool all_seen = !block.visibility && range.all_see(j, next);
      KeyBlock keys{j, next, BlockFetch(block, next, smaller(kKeyBlock, range.end - next)), 0};
      keys.pace = keys.next.pace(100, round_up(rows, kTileLanes) / kTileLanes *
                                          (round_up(next - j, kTileKeys<A>) / kTileKeys<A>));
      for (std::int64_t t = 0; t < rows; t += kTileLanes) {
        switch (smaller(kTileLanes, rows - t) / lanes) {
          case 1:
            tile<1>(block, t, keys, all_seen, state, scratch);
            break;
          case 2:
            tile<2>(block, t, keys, all_seen, state, scratch);
            break;
          default:
            tile<3>(block, t, keys, all_seen, state, scratch);
            break;
        }
      }
      j = next;
    }
  }
};

}  // namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA
