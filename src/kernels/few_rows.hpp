// The kernel for a few query rows against many keys (decoding): keys in lanes, every key and value
// read once for all rows.
#pragma once

#include "kernels/blend_tile.hpp"
#include "kernels/fetch.hpp"
#include "kernels/isa.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/load.hpp"
#include "kernels/score_terms.hpp"
#include "kernels/softmax_state.hpp"
#include "kernels/visible_keys.hpp"

namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA {

template <class T, class A>
struct FewRows {
  using V = Vec<T, A>;
  using Softmax = SoftmaxState<T, A>;
  static constexpr std::int64_t lanes = kLanes<T, A>;
  /// Each row keeps a vector of sums in a register beside the transposed keys.
  static constexpr std::int64_t kMaxRows = kRegisters<A> == 32 ? 8 : 4;
  static constexpr std::int64_t kPaddedRows = round_up(kMaxRows, lanes);

  static Sizes sizes(std::int64_t n_rows, std::int64_t d, std::int64_t d_v) {
    const std::int64_t stride = round_up(d_v, lanes);
    return {round_up(n_rows, lanes), stride,
            kMaxRows * d + kMaxRows * kKeyBlock + 3 * kPaddedRows +
                kKeyBlock * (copy_stride<T>(d) + copy_stride<T>(stride))};
  }

  struct Scratch {
    T* queries;    // [kMaxRows][d], scaled
    T* scores;     // [kMaxRows][kKeyBlock], then the weights
    T* block_max;  // [kPaddedRows]
    T* factor;
    T* origin;
    T* keys;  // copies, if needed
    T* values;

    Scratch(const RowBlock<T>& block, T* at)
        : queries(at),
          scores(queries + kMaxRows * block.d),
          block_max(scores + kMaxRows * kKeyBlock),
          factor(block_max + kPaddedRows),
          origin(factor + kPaddedRows),
          keys(origin + kPaddedRows),
          values(keys + kKeyBlock * copy_stride<T>(block.d)) {}
  };

  static void prepare(const RowBlock<T>& block, const Scratch& scratch) {
    with_storage_of<T>(block.query_type, [&]<class S>() {
      for (std::int64_t r = 0; r < block.n_rows; ++r) {
        T* to = scratch.queries + r * block.d;
        widen_row<S, T, A>(static_cast<const S*>(block.rows[r].query), block.query_feature_stride,
                           block.d, to);
        for (std::int64_t f = 0; f < block.d; ++f) to[f] = to[f] * block.scale;
      }
    });
  }

  /// How much of the next block is fetched while keys are scored, weighed, and values are blended:
  /// about the share of each in the time. The pace matters: bursts, and rests, cost more than they
  /// last.
  static constexpr std::int64_t kPercentScoring = 45, kPercentWeighing = 20, kPercentBlending = 35;
  static constexpr int kFetchesPerSquare = lanes < 4 ? lanes : 4;

  /// scores[row][key] for up to a vector of keys; Rows rows. fetch() is called
  /// kFetchesPerSquare times in each square of keys and features. The next keys come into L1.
  template <int Rows, class S, class Fetch>
  static void score(const T* q, const S* k, std::int64_t k_stride, std::int64_t n_keys,
                    std::int64_t d, T* s, const Fetch& fetch) {
    const S* key[lanes];
    for (std::int64_t i = 0; i < lanes; ++i) key[i] = k + (i < n_keys ? i : n_keys - 1) * k_stride;
    V sum[Rows];
    for (int r = 0; r < Rows; ++r) sum[r] = V(T(0));
    std::int64_t f = 0;
    for (; f + lanes <= d; f += lanes) {
      V feature[lanes];
      load_square<S, T, A>(key, f, feature);
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i) {
        if (i % (lanes / kFetchesPerSquare) == 0) fetch();
        prefetch_near(key[i] + lanes * k_stride + f);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r)
          sum[r] = multiply_add(V(q[r * d + f + i]), feature[i], sum[r]);
      }
    }
    for (; f < d; ++f) {
      alignas(64) T column[lanes];
      for (std::int64_t i = 0; i < lanes; ++i) column[i] = widen<T>(key[i][f]);
      const V feature = load<T, A>(column);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) sum[r] = multiply_add(V(q[r * d + f]), feature, sum[r]);
    }
    for (int r = 0; r < Rows; ++r) store<T, A>(s + r * kKeyBlock, sum[r]);
  }

  /// Calls f.operator()<Rows>() with n_rows padded to a power of two.
  template <class F>
  static void with_rows(std::int64_t n_rows, const F& f) {
    if (n_rows == 1) return f.template operator()<1>();
    if (n_rows == 2) return f.template operator()<2>();
    if (n_rows <= 4) return f.template operator()<4>();
    if constexpr (kMaxRows > 4) f.template operator()<8>();
  }

  /// All rows against n_keys keys.
  template <class S>
  static void score_block(const RowBlock<T>& block, const S* k, std::int64_t k_stride,
                          std::int64_t n_keys, BlockFetch& next, const Scratch& scratch) {
    const std::int64_t squares = round_up(n_keys, lanes) / lanes * (block.d / lanes);
    const std::int64_t pace = next.pace(kPercentScoring, squares * kFetchesPerSquare);
    with_rows(block.n_rows, [&]<int Rows>() {
      for (std::int64_t j = 0; j < n_keys; j += lanes) {
        score<Rows>(scratch.queries, k + j * k_stride, k_stride, n_keys - j, block.d,
                    scratch.scores + j, [&] { next.fetch(pace); });
      }
    });
  }

  /// All rows take in the values of n_keys keys.
  template <class S>
  static void blend(const RowBlock<T>& block, const S* v, std::int64_t v_stride,
                    std::int64_t n_keys, BlockFetch& next, const State<T>& state,
                    const Scratch& scratch) {
    const std::int64_t stride = round_up(block.d_v, lanes);
    const Weights<T> weights{scratch.scores, kKeyBlock, 1};
    std::int64_t r = 0;
    const auto rows = [&]<int Rows>() {
      constexpr int vectors = tile_vectors<A>(Rows);
      const std::int64_t calls = ceil_div(stride, vectors * lanes) * n_keys;
      const std::int64_t pace = next.pace(kPercentBlending * Rows / block.n_rows, calls);
      const auto fetch = [&](std::int64_t) { next.fetch(pace); };
      for (; block.n_rows - r >= Rows; r += Rows) {
        blend_panels<Rows, vectors, T, A>({weights.data + r * kKeyBlock, kKeyBlock, 1}, v, v_stride,
                                          n_keys, scratch.factor + r, state.blend + r * stride,
                                          stride, 0, fetch);
      }
    };
    if constexpr (kMaxRows > 4) rows.template operator()<8>();
    rows.template operator()<4>();
    rows.template operator()<2>();
    rows.template operator()<1>();
  }

  /// Scores of hidden keys, and of the lanes beyond the last key, become -inf.
  static void hide(const VisibleKeys<kMaxRows>& visible, std::int64_t n_rows, std::int64_t n_keys,
                   T* scores) {
    const std::int64_t from = visible.from();
    const KeyBits stretch = range_bits(from, from + n_keys);
    for (std::int64_t r = 0; r < n_rows; ++r) {
      const KeyBits row = visible.whole() ? stretch : visible.row[r] & stretch;
      for (std::int64_t j = 0; j < n_keys; j += lanes) {
        const std::uint64_t seen = row.from(from + j, lanes);
        if (seen == low_bits(lanes)) continue;
        T* s = scores + r * kKeyBlock + j;
        store<T, A>(s, choose(mask_of_bits<T, A>(seen), load<T, A>(s), V(-kInfinity<T>)));
      }
    }
  }

  static void block_maxima(std::int64_t n_rows, std::int64_t n_keys, const Scratch& scratch) {
    for (std::int64_t r = 0; r < kPaddedRows; ++r) scratch.block_max[r] = -kInfinity<T>;
    for (std::int64_t r = 0; r < n_rows; ++r) {
      V high(-kInfinity<T>);
      for (std::int64_t j = 0; j < n_keys; j += lanes) {
        high = larger(high, load<T, A>(scratch.scores + r * kKeyBlock + j));
      }
      alignas(64) T lane[lanes];
      store<T, A>(lane, high);
      for (const T x : lane) {
        if (x > scratch.block_max[r]) scratch.block_max[r] = x;
      }
    }
  }

  /// Scores become weights; a score of -inf becomes -0.0, which blend_visible leaves out.
  static void softmax(const RowBlock<T>& block, std::int64_t n_keys, BlockFetch& next,
                      const State<T>& state, const Scratch& scratch) {
    const V rate(block.rate);
    const std::int64_t vectors = block.n_rows * ceil_div(n_keys, lanes);
    const std::int64_t pace = next.pace(kPercentWeighing, vectors + n_keys);
    block_maxima(block.n_rows, n_keys, scratch);
    for (std::int64_t r = 0; r < block.n_rows; r += lanes) {
      Softmax running = Softmax::at(state.max + r, state.sum + r);
      store<T, A>(scratch.factor + r, running.raise(load<T, A>(scratch.block_max + r), rate));
      store<T, A>(scratch.origin + r, running.origin());
      running.put(state.max + r, state.sum + r);
    }
    for (std::int64_t r = 0; r < block.n_rows; ++r) {
      const V origin[1] = {V(scratch.origin[r])};
      for (std::int64_t j = 0; j < n_keys; j += lanes) {
        next.fetch(pace);
        T* s = scratch.scores + r * kKeyBlock + j;
        const V score = load<T, A>(s);
        V weight[1] = {score};
        Softmax::weigh(weight, origin, rate);
        store<T, A>(s, choose(score == V(-kInfinity<T>), V(T(-0.0)), weight[0]));
      }
    }
    with_rows(block.n_rows,
              [&]<int Rows>() { add_weights<Rows>(block, n_keys, next, pace, state, scratch); });
  }

  /// Row sums, in key order, with the rows' chains of additions side by side in registers.
  template <int Rows>
  static void add_weights(const RowBlock<T>& block, std::int64_t n_keys, BlockFetch& next,
                          std::int64_t pace, const State<T>& state, const Scratch& scratch) {
    const T* weight[Rows];
    T sum[Rows];
    for (std::int64_t r = 0; r < Rows; ++r) {
      const std::int64_t row = smaller(r, block.n_rows - 1);  // Rows may be more than there are
      weight[r] = scratch.scores + row * kKeyBlock;
      sum[r] = state.sum[row];
    }
    for (std::int64_t j = 0; j < n_keys; ++j) {
      next.fetch(pace);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) sum[r] += weight[r][j];
    }
    for (std::int64_t r = 0; r < smaller(Rows, block.n_rows); ++r) state.sum[r] = sum[r];
  }

  /// The state after keys [first, end) of one chunk. skip_hidden leaves hidden values untouched.
  static void chunk(const RowBlock<T>& block, const RangeOfRows& range, std::int64_t first,
                    std::int64_t end, const State<T>& state, T* workspace,
                    bool skip_hidden = false) {
    const Scratch scratch(block, workspace);
    clear_state<T, A>(state, sizes(block.n_rows, block.d, block.d_v));
    for (std::int64_t j = first; j < end;) {
      const std::int64_t next = smaller((j / kKeyBlock + 1) * kKeyBlock, end);
      VisibleKeys<kMaxRows> visible;
      visible.template look<A>(block, 0, block.n_rows, j, next - j);
      if (!visible.none()) {
        keys(block, visible, range.end, j + visible.from(), j + visible.to(), state, scratch,
             skip_hidden);
      }
      j = next;
    }
  }

  /// Keys [from, to), the visible stretch of a block; later ones come until `last`.
  static void keys(const RowBlock<T>& block, const VisibleKeys<kMaxRows>& visible,
                   std::int64_t last, std::int64_t from, std::int64_t to, const State<T>& state,
                   const Scratch& scratch, bool skip_hidden) {
    const std::int64_t n = to - from, stride = round_up(block.d_v, lanes);
    BlockFetch next = BlockFetch::after(block, to, last - to);
    use_rows<T, A>(block.keys, from, n, block.d, block.d, scratch.keys,
                   [&]<class S>(const S* k, std::int64_t k_stride) {
                     score_block(block, k, k_stride, n, next, scratch);
                   });
    if (block.terms && block.terms->change_scores()) {
      ScoreTerms<T, A>::apply_to_rows(*block.terms,
                                      {scratch.scores, kKeyBlock, 1, 0, block.n_rows, from, n});
    }
    hide(visible, block.n_rows, n, scratch.scores);
    softmax(block, n, next, state, scratch);
    use_rows<T, A>(block.values, from, n, block.d_v, stride, scratch.values,
                   [&]<class S>(const S* v, std::int64_t v_stride) {
                     if (skip_hidden) return blend_careful(block, v, v_stride, n, state, scratch);
                     blend(block, v, v_stride, n, next, state, scratch);
                   });
  }

  template <class S>
  static void blend_careful(const RowBlock<T>& block, const S* v, std::int64_t v_stride,
                            std::int64_t n_keys, const State<T>& state, const Scratch& scratch) {
    const std::int64_t stride = round_up(block.d_v, lanes);
    for (std::int64_t r = 0; r < block.n_rows; ++r) {
      blend_visible<T, A>(scratch.scores + r * kKeyBlock, v, v_stride, n_keys, scratch.factor[r],
                          state.blend + r * stride, stride);
    }
  }
};

}  // namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA
