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
  static_assert(kTileVectors == 3, "see for_each_tile");

  static Sizes sizes(std::int64_t n_rows, std::int64_t d, std::int64_t d_v) {
    const std::int64_t rows = round_up(n_rows, lanes), stride = round_up(d_v, lanes);
    return {rows, stride,
            rows * d + (kKeyBlock + kTileKeys<A>)*kTileLanes + 2 * kTileLanes +
                kKeyBlock * (copy_stride<T>(d) + round_up(stride, kPanelVectors * lanes))};
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

  /// Calls f.operator()<Vectors>(first row) for the tiles of n_rows rows: 3 vectors each, in the
  /// end what is left.
  template <class F>
  static void for_each_tile(std::int64_t n_rows, const F& f) {
    const std::int64_t rows = round_up(n_rows, lanes);
    for (std::int64_t first = 0; first < rows; first += kTileLanes) {
      const std::int64_t vectors = (rows - first) / lanes;
      if (vectors >= 3) {
        f.template operator()<3>(first);
      } else if (vectors == 2) {
        f.template operator()<2>(first);
      } else {
        f.template operator()<1>(first);
      }
    }
  }

  static void prepare(const RowBlock<T>& block, const Scratch& scratch) {
    with_storage_of<T>(block.query_type, [&]<class S>() {
      for_each_tile(block.n_rows, [&]<int Vectors>(std::int64_t tile) {
        T* to = scratch.queries + tile * block.d;
        for (int v = 0; v < Vectors; ++v) {
          prepare_vector<S>(block, tile + v * lanes, Vectors * lanes, to + v * lanes);
        }
      });
    });
  }

  /// Queries of a vector of rows, to[feature * width + lane]. Lanes beyond the last row repeat it.
  template <class S>
  static void prepare_vector(const RowBlock<T>& block, std::int64_t first, std::int64_t width,
                             T* to) {
    const void* query[lanes];
    for (std::int64_t i = 0; i < lanes; ++i) {
      query[i] = block.rows[smaller(first + i, block.n_rows - 1)].query;
    }
    const V scale(block.scale);
    for (std::int64_t f = 0; f < block.d; f += lanes) {
      use_columns<S, T, A>(query, f, smaller(lanes, block.d - f), block.query_feature_stride,
                           [&](std::int64_t i, const V& column) {
                             store<T, A>(to + (f + i) * width, column * scale);
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

  /// Keys and values of a block, loaded when the first tile asks for them, while what comes next is
  /// fetched: a little between score tiles, or, where that would be too much at once, within score
  /// and blend tiles.
  struct KeyBlock {
    static constexpr std::int64_t kStepsPerFetch = 4;  // features, or keys
    std::int64_t first, end;
    BlockFetch next;
    bool within_tiles;
    std::int64_t score_pace, blend_pace;  // of each call of fetch
    bool loaded = false;
    Panel<T> keys{};
    Panels<T> values{};

    KeyBlock(const RowBlock<T>& block, std::int64_t first_, std::int64_t end_, std::int64_t n_left)
        : first(first_), end(end_), next(BlockFetch::after(block, end_, n_left)) {
      constexpr std::int64_t most_steps_at_once = 8;
      const std::int64_t n = end - first;
      const std::int64_t tiles = ceil_div(block.n_rows, kTileLanes) * ceil_div(n, kTileKeys<A>);
      within_tiles = next.steps() > most_steps_at_once * tiles;
      if (within_tiles) {
        const std::int64_t blend_tiles =
            ceil_div(block.n_rows, panel_rows<A>()) * ceil_div(block.d_v, kPanelVectors * lanes);
        score_pace = next.pace(50, tiles * block.d / kStepsPerFetch);
        blend_pace = next.pace(50, blend_tiles * n / kStepsPerFetch);
      } else {
        score_pace = next.pace(100, tiles);
        blend_pace = 0;
      }
    }

    /// Calls work(per_step) with what a tile does at every feature or key.
    template <class Work>
    void fetch_within(std::int64_t pace, const Work& work) {
      if (!within_tiles) return work(Nothing{});
      work([&](std::int64_t i) {
        // Rare, so that compilers give the registers to the work.
        if (__builtin_expect_with_probability(i % kStepsPerFetch == 0, 0, 0.97)) next.fetch(pace);
      });
    }

    void load(const RowBlock<T>& block, const Scratch& scratch) {
      if (loaded) return;
      const std::int64_t stride = round_up(block.d_v, lanes), n = end - first;
      const bool many_uses = block.n_rows >= 4 * kTileLanes;
      keys = load_rows<T, A>(block.keys, first, n, block.d, block.d, many_uses, scratch.keys);
      values =
          load_panels<T, A>(block.values, first, n, block.d_v, stride, many_uses, scratch.values);
      loaded = true;
    }
  };

  /// Scores of the visible stretch [visible.from(), visible.to()) of a block's keys for a tile of
  /// rows from row `tile` on, and their maxima. per_tile, per_feature: see score_tiles.
  template <int Vectors, class PerTile, class PerFeature>
  static void score(const RowBlock<T>& block, std::int64_t tile, const Panel<T>& keys,
                    const VisibleKeys<Vectors * lanes>& visible, const Scratch& scratch,
                    const PerTile& per_tile, const PerFeature& per_feature) {
    const std::int64_t from = visible.from(), n = visible.to() - from;
    for (int v = 0; v < Vectors; ++v) store<T, A>(scratch.high + v * lanes, V(-kInfinity<T>));
    score_tiles<Vectors, T, A>(scratch.queries + tile * block.d, keys.data + from * keys.stride,
                               keys.stride, n, block.d, scratch.scores, scratch.high, per_tile,
                               per_feature);
  }

  /// Scores changed by the terms, -inf where hidden, and the maxima of what is left. first: the
  /// block's first key.
  template <int Vectors>
  static void change_and_hide(const RowBlock<T>& block, std::int64_t tile, std::int64_t first,
                              const VisibleKeys<Vectors * lanes>& visible,
                              const Scratch& scratch) {
    constexpr std::int64_t width = Vectors * lanes;
    const std::int64_t from = visible.from(), n = visible.to() - from;
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

  /// One tile of rows, from row `tile` on, against a block of keys. from_nothing: the blend has not
  /// been written yet.
  template <int Vectors>
  static void tile(const RowBlock<T>& block, std::int64_t tile, KeyBlock& keys, bool all_seen,
                   bool from_nothing, const State<T>& state, const Scratch& scratch) {
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
    // What comes next is fetched a little at a time: what follows the block, and, if there is any,
    // this tile's bias and the next tile's mask.
    constexpr std::int64_t rows_per_fetch = kTileLanes * kTileKeys<A> / kKeyBlock + 1;
    const bool last = tile + width >= block.n_rows;
    const std::int64_t next_tile = last ? 0 : tile + width;
    std::int64_t row = block.terms || block.visibility ? 0 : n_rows;
    const auto per_tile = [&] {
      for (std::int64_t i = 0; i < rows_per_fetch && row < n_rows; ++i, ++row) {
        fetch_bias(block, tile + row, keys.first);
        fetch_mask(block, smaller(next_tile + row, block.n_rows - 1),
                   last ? keys.end : keys.first);
      }
      if (!keys.within_tiles) keys.next.fetch(keys.score_pace);
    };
    keys.fetch_within(keys.score_pace, [&](const auto& per_feature) {
      score<Vectors>(block, tile, keys.keys, visible, scratch, per_tile, per_feature);
    });
    change_and_hide<Vectors>(block, tile, keys.first, visible, scratch);
    const std::int64_t from = visible.from(), n = visible.to() - from;
    softmax<Vectors>(n, block.rate, state.max + tile, state.sum + tile, scratch);
    const std::int64_t stride = round_up(block.d_v, lanes);
    keys.fetch_within(keys.blend_pace, [&](const auto& per_key) {
      blend_rows<T, A>({scratch.scores, 1, width}, n_rows, keys.values, from, n,
                       from_nothing ? nullptr : scratch.factor, state.blend + tile * stride, stride,
                       per_key);
    });
  }

  /// The state after keys [first, end) of one chunk.
  static void chunk(const RowBlock<T>& block, const RangeOfRows& range, std::int64_t first,
                    std::int64_t end, const State<T>& state, T* workspace) {
    const Scratch scratch(block, workspace);
    const Sizes size = sizes(block.n_rows, block.d, block.d_v);
    clear_sums<T, A>(state, size.padded_rows);
    for (std::int64_t j = first; j < end;) {
      const std::int64_t next = smaller((j / kKeyBlock + 1) * kKeyBlock, end);
      const bool all_seen = !block.visibility && range.all_see(j, next);
      // The first block writes every row's blend, unless a tile has nothing to see in it.
      const bool from_nothing = j == first && all_seen;
      if (j == first) {
        const std::int64_t written = from_nothing ? block.n_rows : 0;
        clear_blend<T, A>(state.blend + written * size.blend_stride,
                          (size.padded_rows - written) * size.blend_stride);
      }
      KeyBlock keys(block, j, next, range.end - next);
      for_each_tile(block.n_rows, [&]<int Vectors>(std::int64_t first_row) {
        tile<Vectors>(block, first_row, keys, all_seen, from_nothing, state, scratch);
      });
      j = next;
    }
  }
};

}  // namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA
