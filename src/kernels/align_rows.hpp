// Views of weights: scores once more, weights from the known maximum and sum, and what is wanted of
// them reduced tile by tile. Sums over keys run in key order within a row, sums over rows in row
// order, whatever the tile.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/many_rows.hpp"

namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA {

template <class T, class A>
struct AlignKernel {
  using V = Vec<T, A>;
  using Many = ManyRows<T, A>;
  static constexpr std::int64_t lanes = kLanes<T, A>;
  static constexpr std::int64_t kTileLanes = Many::kTileLanes;

  /// What a row sums up over its keys, beside what it adds to keys and cells. Per chunk in T, and
  /// chunk by chunk in double, so that long rows keep their accuracy.
  struct RowSums {
    double all[kTileLanes], position[kTileLanes], distance[kTileLanes], entropy[kTileLanes];
    double below[kTileLanes];  // weight of keys below share_keys
    T largest[kTileLanes];
    bool is_nan[kTileLanes];
  };

  /// One tile of rows on its way through the keys.
  struct Tile {
    const AlignRows<T>& want;
    std::int64_t first_row, n_rows;
    T* weights;  // [key][tile rows]; hidden is -0.0
    T* cell;     // [tile rows]: the column of cells being summed
    T* lowest;   // [tile rows]: below this, no weight is among the heaviest
    RowSums* sums;
    std::int64_t column;  // of cells
  };

  static std::int64_t workspace(std::int64_t n_rows, std::int64_t d, std::int64_t n_heads,
                                std::int64_t) {
    const std::int64_t row_sums = round_up(static_cast<std::int64_t>(sizeof(RowSums)), 64);
    return n_heads * round_up(n_rows, lanes) * d + Many::sizes(n_rows, d, 0).workspace +
           (kKeyBlock + lanes + 4) * kTileLanes + row_sums / static_cast<std::int64_t>(sizeof(T)) +
           64;
  }

  static void run(const AlignRows<T>& want, T* workspace) {
    const RowBlock<T>& block = want.heads[0];
    const std::int64_t rows = round_up(block.n_rows, lanes), queries = rows * block.d;
    T* weights = workspace + want.n_heads * queries;
    T* cell = weights + (kKeyBlock + lanes) * kTileLanes;
    T* lowest = cell + kTileLanes;
    auto* sums = reinterpret_cast<RowSums*>(lowest + kTileLanes);
    T* rest = lowest + kTileLanes +
              round_up(static_cast<std::int64_t>(sizeof(RowSums)), 64) /
                  static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t h = 0; h < want.n_heads; ++h) {
      Many::prepare(want.heads[h], scratch_of(want, h, workspace, rest));
    }
    Many::for_each_tile(block.n_rows, [&]<int Vectors>(std::int64_t first) {
      Tile tile{want, first, smaller(Vectors * lanes, block.n_rows - first), weights, cell, lowest,
                sums, 0};
      run_tile<Vectors>(tile, workspace, rest);
    });
  }

  /// The scratch of the kernel for many rows, with the queries of head h in their own place.
  static typename Many::Scratch scratch_of(const AlignRows<T>& want, std::int64_t h, T* workspace,
                                           T* rest) {
    typename Many::Scratch scratch(want.heads[h], rest);
    scratch.queries = workspace + h * round_up(want.heads[h].n_rows, lanes) * want.heads[h].d;
    return scratch;
  }

  template <int Vectors>
  static void run_tile(Tile& tile, T* workspace, T* rest) {
    constexpr std::int64_t width = Vectors * lanes;
    start<width>(tile);
    for (std::int64_t j = 0; j < tile.want.n_keys; j += kKeyBlock) {
      const std::int64_t n = smaller(kKeyBlock, tile.want.n_keys - j);
      if (tile.want.full_scores) {
        full_scores<Vectors>(tile, j, n, workspace, rest);
        continue;
      }
      std::int64_t from = kKeyBlock, to = 0;
      weigh<Vectors>(tile, j, n, from, to, workspace, rest);
      if (from >= to) continue;
      reduce_columns<Vectors>(tile, j, from, to);
      reduce_rows<Vectors>(tile, j, from, to);
    }
    finish<width>(tile);
  }

  /// scratch.scores of a head for the visible ones of the n keys from `first` on.
  template <int Vectors>
  static void score(const Tile& tile, const RowBlock<T>& block, std::int64_t first, std::int64_t n,
                    const VisibleKeys<Vectors * lanes>& visible,
                    const typename Many::Scratch& scratch) {
    const auto keys = load_rows<T, A>(block.keys, first, n, block.d, block.d, false, scratch.keys);
    Many::template score<Vectors>(block, tile.first_row, keys, visible, scratch, Nothing{},
                                  Nothing{});
    Many::template change_and_hide<Vectors>(block, tile.first_row, first, visible, scratch);
  }

  /// Keys [from, to) of the block at key `first` that some row of some head sees; their weights,
  /// over the heads.
  template <int Vectors>
  static void weigh(const Tile& tile, std::int64_t first, std::int64_t n, std::int64_t& from,
                    std::int64_t& to, T* workspace, T* rest) {
    constexpr std::int64_t width = Vectors * lanes;
    const AlignRows<T>& want = tile.want;
    const T hidden = want.reduce_by_max ? T(-1) : T(-0.0);
    fill(tile.weights, kKeyBlock * width, hidden);
    for (std::int64_t h = 0; h < want.n_heads; ++h) {
      const RowBlock<T>& block = want.heads[h];
      VisibleKeys<width> visible;
      visible.template look<A>(block, tile.first_row, tile.n_rows, first, n);
      if (visible.none()) continue;
      const auto scratch = scratch_of(want, h, workspace, rest);
      score<Vectors>(tile, block, first, n, visible, scratch);
      from = smaller(from, visible.from());
      to = greater(to, visible.to());
      add_head<Vectors>(tile, h, visible.from(), visible.to(), scratch.scores);
    }
    if (want.reduce_by_max) {
      for (std::int64_t i = 0; i < kKeyBlock * width; i += lanes) {
        const V w = load<T, A>(tile.weights + i);
        store<T, A>(tile.weights + i, choose(w == V(T(-1)), V(T(-0.0)), w));
      }
    }
  }

  template <int Vectors>
  static void add_head(const Tile& tile, std::int64_t h, std::int64_t from, std::int64_t to,
                       const T* scores) {
    constexpr std::int64_t width = Vectors * lanes;
    const AlignRows<T>& want = tile.want;
    const T* statistics = want.statistics[h] + 2 * tile.first_row;
    const V rate(want.heads[h].rate);
    const V share(want.reduce_by_max ? T(1) : T(1) / static_cast<T>(want.n_heads));
    for (int v = 0; v < Vectors; ++v) {
      alignas(64) T max[lanes], inverse_sum[lanes];
      for (std::int64_t i = 0; i < lanes; ++i) {
        const std::int64_t r = smaller(v * lanes + i, tile.n_rows - 1);
        max[i] = statistics[2 * r];
        inverse_sum[i] = statistics[2 * r + 1];
      }
      const V origin[1] = {SoftmaxState<T, A>{load<T, A>(max), V(T(0))}.origin()};
      const V inverse = load<T, A>(inverse_sum);
      for (std::int64_t j = from; j < to; ++j) {
        const V score = load<T, A>(scores + (j - from) * width + v * lanes);
        V weight[1] = {score};
        SoftmaxState<T, A>::weigh(weight, origin, rate);
        V w = weight[0] * inverse;
        w = choose(w < V(std::numeric_limits<T>::min()), V(T(0)), w) * share;
        T* to_weights = tile.weights + j * width + v * lanes;
        const V before = load<T, A>(to_weights);
        const V after = want.reduce_by_max ? larger_or_nan<T, A>(before, w) : before + w;
        store<T, A>(to_weights, choose(score == V(-kInfinity<T>), before, after));
      }
    }
  }

  static void fill(T* to, std::int64_t count, T x) {
    for (std::int64_t i = 0; i < count; i += lanes) store<T, A>(to + i, V(x));
  }

  template <std::int64_t width>
  static void start(Tile& tile) {
    *tile.sums = RowSums{};
    fill(tile.cell, width, T(0));
    fill(tile.lowest, width, T(-1));
    const AlignRows<T>& want = tile.want;
    for (std::int64_t r = 0; r < tile.n_rows; ++r) {
      for (std::int64_t h = 0; h < want.n_heads && want.statistics; ++h) {
        const T inverse = want.statistics[h][2 * (tile.first_row + r) + 1];
        tile.sums->is_nan[r] |= inverse != inverse;
      }
      for (std::int64_t i = 0; i < want.top; ++i) {
        want.top_index[(tile.first_row + r) * want.top + i] = -1;
        want.top_weight[(tile.first_row + r) * want.top + i] = T(0);
      }
    }
  }

  // ---- Rows in lanes: what each row sums over its keys.

  template <int Vectors>
  static void reduce_columns(Tile& tile, std::int64_t first, std::int64_t from, std::int64_t to) {
    constexpr std::int64_t width = Vectors * lanes;
    for (int v = 0; v < Vectors; ++v) sum_rows<width>(tile, v, first, from, to);
    if (tile.want.top > 0) {
      for (std::int64_t j = from; j < to; ++j) {
        for (int v = 0; v < Vectors; ++v) keep_heaviest<width>(tile, v, first, j);
      }
    }
    if (tile.want.cells) sum_cells<Vectors>(tile, first, from, to);
  }

  /// One vector of rows over one block. Blocks are parts of the fixed order, so a sum per block is
  /// too.
  template <std::int64_t width>
  static void sum_rows(const Tile& tile, int v, std::int64_t first, std::int64_t from,
                       std::int64_t to) {
    const AlignRows<T>& want = tile.want;
    const bool entropy = want.entropy, distance = want.distance, below = want.share;
    alignas(64) T positions[lanes];
    for (std::int64_t i = 0; i < lanes; ++i) {
      positions[i] = static_cast<T>(want.first_position + tile.first_row + v * lanes + i - first);
    }
    const V position = load<T, A>(positions);
    V all(T(0)), at(T(0)), away(T(0)), disorder(T(0)), low(T(0)), high(T(0));
    for (std::int64_t j = from; j < to; ++j) {
      const V w = load<T, A>(tile.weights + j * width + v * lanes), key(static_cast<T>(j));
      all = all + w;
      at = multiply_add(w, key, at);
      high = larger(high, w);
      if (distance) away = multiply_add(w, absolute<T, A>(position - key), away);
      if (entropy) disorder = disorder - times_log<T, A>(w);
      if (below && first + j < want.share_keys) low = low + w;
    }
    alignas(64) T a[lanes], p[lanes], d[lanes], e[lanes], l[lanes], m[lanes];
    store<T, A>(a, all);
    store<T, A>(p, at);
    store<T, A>(d, away);
    store<T, A>(e, disorder);
    store<T, A>(l, low);
    store<T, A>(m, high);
    RowSums& sums = *tile.sums;
    for (std::int64_t i = 0; i < lanes; ++i) {
      const std::int64_t r = v * lanes + i;
      sums.all[r] += a[i];
      sums.position[r] += p[i] + static_cast<double>(a[i]) * static_cast<double>(first);
      sums.distance[r] += d[i];
      sums.entropy[r] += e[i];
      sums.below[r] += l[i];
      if (m[i] > sums.largest[r]) sums.largest[r] = m[i];
    }
  }

  template <std::int64_t width>
  static void keep_heaviest(const Tile& tile, int v, std::int64_t first, std::int64_t j) {
    const T* weights = tile.weights + j * width + v * lanes;
    T* lowest = tile.lowest + v * lanes;
    if (!xsimd::any(load<T, A>(weights) > load<T, A>(lowest))) return;
    const std::int64_t top = tile.want.top;
    for (std::int64_t i = 0; i < lanes && v * lanes + i < tile.n_rows; ++i) {
      const T w = weights[i];
      if (!(w > lowest[i]) || __builtin_signbit(w)) continue;
      const std::int64_t row = (tile.first_row + v * lanes + i) * top;
      std::int64_t* index = tile.want.top_index + row;
      T* weight = tile.want.top_weight + row;
      std::int64_t at = top - 1;
      for (; at > 0 && (index[at - 1] < 0 || weight[at - 1] < w); --at) {
        index[at] = index[at - 1];
        weight[at] = weight[at - 1];
      }
      index[at] = first + j;
      weight[at] = w;
      if (index[top - 1] >= 0) lowest[i] = weight[top - 1];
    }
  }

  /// Each row's sum (or maximum) over a column of cells is completed before it is added to the
  /// cell, so that cells sum rows in order.
  template <int Vectors>
  static void sum_cells(Tile& tile, std::int64_t first, std::int64_t from, std::int64_t to) {
    constexpr std::int64_t width = Vectors * lanes;
    const AlignRows<T>& want = tile.want;
    for (std::int64_t j = from; j < to; ++j) {
      const std::int64_t key = first + j;
      if (key < want.cell_first_key) continue;
      while (tile.column < want.cell_columns && key >= want.cell_end[tile.column]) {
        add_column<width>(tile);
      }
      if (tile.column == want.cell_columns) return;
      for (int v = 0; v < Vectors; ++v) {
        const V w = load<T, A>(tile.weights + j * width + v * lanes);
        const V before = load<T, A>(tile.cell + v * lanes);
        store<T, A>(tile.cell + v * lanes,
                    want.cells_by_max ? larger_or_nan<T, A>(before, w) : before + w);
      }
    }
  }

  template <std::int64_t width>
  static void add_column(Tile& tile) {
    const AlignRows<T>& want = tile.want;
    for (std::int64_t r = 0; r < tile.n_rows; ++r) {
      const std::int64_t row = want.cell_row[tile.first_row + r];
      if (row < 0) continue;
      T& cell = want.cells[row * want.cell_columns + tile.column];
      const T x = tile.cell[r];
      cell = want.cells_by_max ? larger_or_nan(cell, x) : cell + x;
    }
    fill(tile.cell, width, T(0));
    ++tile.column;
  }

  // ---- Keys in lanes: what rows add to keys, and rows in full.

  template <int Vectors>
  static void reduce_rows(const Tile& tile, std::int64_t first, std::int64_t from,
                          std::int64_t to) {
    constexpr std::int64_t width = Vectors * lanes;
    const AlignRows<T>& want = tile.want;
    if (!want.received_sum && !want.received_max && !want.mass && !want.full_rows) return;
    for (std::int64_t j = from / lanes * lanes; j < to; j += lanes) {
      for (int v = 0; v < Vectors; ++v) {
        V rows[lanes];
#pragma GCC unroll 16
        for (int i = 0; i < lanes; ++i) {
          // Beyond the visible stretch the block holds hidden weights, which add nothing.
          rows[i] = load<T, A>(tile.weights + (j + i) * width + v * lanes);
        }
        transpose_square<T, A>(rows);
        const std::int64_t n = smaller(lanes, tile.n_rows - v * lanes);
        for (std::int64_t i = 0; i < n; ++i) {
          add_row(want, tile.first_row + v * lanes + i, first + j, rows[i]);
        }
      }
    }
  }

  static void add_row(const AlignRows<T>& want, std::int64_t r, std::int64_t key, const V& w) {
    if (r >= want.received_from_row) {
      if (want.received_sum) {
        T* to = want.received_sum + key;
        store<T, A>(to, load<T, A>(to) + w);
      }
      if (want.received_max) {
        T* to = want.received_max + key;
        const V before = load<T, A>(to);
        store<T, A>(to, larger_or_nan<T, A>(before, w));
      }
    }
    if (want.mass) {
      T* to = want.mass + (want.heads[0].n_rows - 1 - r + key);
      store<T, A>(to, load<T, A>(to) + w);
    }
    if (want.full_rows) put_row(want, r, key, w + V(T(0)));  // -0.0 becomes 0
  }

  static void put_row(const AlignRows<T>& want, std::int64_t r, std::int64_t key, const V& x) {
    T* to = want.full_rows[r] + key * want.full_key_stride;
    const std::int64_t n = smaller(lanes, want.n_keys - key);
    if (n == lanes && want.full_key_stride == 1) return store<T, A>(to, x);
    alignas(64) T lane[lanes];
    store<T, A>(lane, x);
    for (std::int64_t i = 0; i < n; ++i) to[i * want.full_key_stride] = lane[i];
  }

  /// Scores instead of weights: those of the only head, -inf where hidden.
  template <int Vectors>
  static void full_scores(const Tile& tile, std::int64_t first, std::int64_t n, T* workspace,
                          T* rest) {
    constexpr std::int64_t width = Vectors * lanes;
    const AlignRows<T>& want = tile.want;
    const RowBlock<T>& block = want.heads[0];
    VisibleKeys<width> visible;
    visible.template look<A>(block, tile.first_row, tile.n_rows, first, n);
    fill(tile.weights, kKeyBlock * width, -kInfinity<T>);
    if (!visible.none()) {
      const auto scratch = scratch_of(want, 0, workspace, rest);
      score<Vectors>(tile, block, first, n, visible, scratch);
      for (std::int64_t i = 0; i < (visible.to() - visible.from()) * width; i += lanes) {
        store<T, A>(tile.weights + visible.from() * width + i, load<T, A>(scratch.scores + i));
      }
    }
    for (std::int64_t j = 0; j < n; j += lanes) {
      for (int v = 0; v < Vectors; ++v) {
        V rows[lanes];
#pragma GCC unroll 16
        for (int i = 0; i < lanes; ++i) {
          rows[i] = load<T, A>(tile.weights + (j + i) * width + v * lanes);
        }
        transpose_square<T, A>(rows);
        for (std::int64_t i = 0; i < smaller(lanes, tile.n_rows - v * lanes); ++i) {
          put_row(want, tile.first_row + v * lanes + i, first + j, rows[i]);
        }
      }
    }
  }

  template <std::int64_t width>
  static void finish(Tile& tile) {
    const AlignRows<T>& want = tile.want;
    while (want.cells && tile.column < want.cell_columns) add_column<width>(tile);
    const T nan = std::numeric_limits<T>::quiet_NaN();
    for (std::int64_t i = 0; i < tile.n_rows; ++i) {
      const std::int64_t r = tile.first_row + i;
      const RowSums& sums = *tile.sums;
      const bool is_nan = sums.is_nan[i];
      if (want.entropy) want.entropy[r] = is_nan ? nan : static_cast<T>(sums.entropy[i]);
      if (want.largest) want.largest[r] = is_nan ? nan : sums.largest[i];
      // 0 / 0 for a row that sees nothing.
      if (want.position) want.position[r] = static_cast<T>(sums.position[i] / sums.all[i]);
      if (want.distance) want.distance[r] = static_cast<T>(sums.distance[i] / sums.all[i]);
      if (want.share) {
        want.share[0] += sums.below[i];
        want.share[1] += sums.all[i];
      }
      for (std::int64_t t = 0; t < want.top && is_nan; ++t) want.top_weight[r * want.top + t] = nan;
    }
  }
};

}  // namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA
