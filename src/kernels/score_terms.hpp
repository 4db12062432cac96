// What is done to scores between scoring and masking, in this order: softcap, ALiBi, bias, hook.
// Each element gets the same operations whether rows or keys lie in lanes.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/load.hpp"
#include "kernels/tanh.hpp"

namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA {

/// Scores of keys [first_key, first_key + n_keys) for rows [first_row, first_row + n_rows) of a
/// block. The score of tile row r and key c is at scores[r * row_stride + c * key_stride].
template <class T>
struct Tile {
  T* scores;
  std::int64_t row_stride, key_stride;
  std::int64_t first_row, n_rows;
  std::int64_t first_key, n_keys;
};

/// One number per lane and the terms they go into.
template <class T, class A>
struct ScoreTerms {
  using V = Vec<T, A>;
  static constexpr int lanes = kLanes<T, A>;

  /// cap * tanh(s / cap). 1 / cap must be a normal number: a cap beyond that, at the end of the
  /// type's range, changes no score that anyone meets and is none.
  static void softcap(const Terms& terms, T* scores, std::int64_t count) {
    constexpr double smallest = std::numeric_limits<T>::min();
    constexpr double largest = std::numeric_limits<T>::max();
    if (1 / terms.softcap < smallest) return;
    const V cap(static_cast<T>(terms.softcap));
    const V inverse(static_cast<T>(1 / terms.softcap < largest ? 1 / terms.softcap : largest));
    const auto capped = [&]<int n>(T* s) {
      V x[n];
#pragma GCC unroll 8
      for (int i = 0; i < n; ++i) x[i] = load<T, A>(s + i * lanes) * inverse;
      tanh_of<T, A>(x);
#pragma GCC unroll 8
      for (int i = 0; i < n; ++i) store<T, A>(s + i * lanes, cap * x[i]);
    };
    constexpr int n = kRegisters<A> == 32 ? 4 : 2;  // side by side, as far as registers go
    std::int64_t i = 0;
    for (; i + n * lanes <= count; i += n * lanes) capped.template operator()<n>(scores + i);
    for (; i < count; i += lanes) capped.template operator()<1>(scores + i);
  }

  /// s - slope * |position - key|, both counted from the start of the key block, where key numbers
  /// are exact in any type.
  static V with_alibi(const V& s, const V& slope, const V& position, const V& key) {
    return multiply_add(-slope, absolute<T, A>(position - key), s);
  }

  /// A bias of -inf hides the key even where the score is NaN.
  static V with_bias(const V& s, const V& bias) {
    return choose(bias == V(-kInfinity<T>), bias, s + bias);
  }

  static T block_position(const RowTerms& row, std::int64_t first_key) {
    return static_cast<T>(row.position - first_key / kKeyBlock * kKeyBlock);
  }

  static bool follows(const RowTerms& a, const RowTerms& b) {
    return b.head == a.head && b.row == a.row + 1;
  }

  /// Calls the hook once per run of rows that follow one another in one query head.
  static void hook(const Terms& terms, const Tile<T>& tile) {
    for (std::int64_t r = 0; r < tile.n_rows;) {
      const RowTerms& row = terms.rows[tile.first_row + r];
      std::int64_t next = r + 1;
      while (next < tile.n_rows &&
             follows(terms.rows[tile.first_row + next - 1], terms.rows[tile.first_row + next])) {
        ++next;
      }
      const lookback_score_tile part{tile.scores + r * tile.row_stride,
                                     sizeof(T) == sizeof(double),
                                     0,
                                     tile.row_stride,
                                     tile.key_stride,
                                     next - r,
                                     tile.n_keys,
                                     terms.sequence,
                                     row.head,
                                     row.row,
                                     row.position,
                                     tile.first_key};
      terms.hook(&part, terms.hook_user);
      r = next;
    }
  }

  /// Rows in lanes: Vectors vectors of rows, row_stride 1, key_stride Vectors * lanes.
  template <int Vectors>
  static void apply_to_columns(const Terms& terms, const Tile<T>& tile) {
    if (terms.has_softcap) softcap(terms, tile.scores, tile.n_keys * Vectors * lanes);
    for (int v = 0; v < Vectors; ++v) {
      const RowTerms* row[lanes];  // lanes beyond the last row repeat it
      for (int i = 0; i < lanes; ++i) {
        row[i] = terms.rows + tile.first_row + smaller(v * lanes + i, tile.n_rows - 1);
      }
      T* scores = tile.scores + v * lanes;
      if (terms.has_alibi) alibi_columns(row, tile, scores);
      if (terms.has_bias) bias_columns(terms, row, tile, scores);
    }
    if (terms.hook) hook(terms, tile);
  }

  static void alibi_columns(const RowTerms* const (&row)[lanes], const Tile<T>& tile, T* scores) {
    alignas(64) T slopes[lanes], positions[lanes];
    for (int i = 0; i < lanes; ++i) {
      slopes[i] = static_cast<T>(row[i]->slope);
      positions[i] = block_position(*row[i], tile.first_key);
    }
    const V slope = load<T, A>(slopes), position = load<T, A>(positions);
    const std::int64_t first = tile.first_key % kKeyBlock;
    for (std::int64_t c = 0; c < tile.n_keys; ++c) {
      T* s = scores + c * tile.key_stride;
      const V key(static_cast<T>(first + c));
      store<T, A>(s, with_alibi(load<T, A>(s), slope, position, key));
    }
  }

  static void bias_columns(const Terms& terms, const RowTerms* const (&row)[lanes],
                           const Tile<T>& tile, T* scores) {
    const void* bias[lanes];
    bool same = true;
    for (int i = 0; i < lanes; ++i) {
      bias[i] = row[i]->bias;
      same &= bias[i] == bias[0];
    }
    const std::int64_t stride = terms.bias_key_stride;
    with_storage(terms.bias_type, [&]<class S>() {
      if (same) {  // broadcast over rows: one number per key
        for (std::int64_t c = 0; c < tile.n_keys; ++c) {
          T* s = scores + c * tile.key_stride;
          const V b(widen<T>(static_cast<const S*>(bias[0])[(tile.first_key + c) * stride]));
          store<T, A>(s, with_bias(load<T, A>(s), b));
        }
        return;
      }
      for (std::int64_t c = 0; c < tile.n_keys; c += lanes) {
        use_columns<S, T, A>(bias, tile.first_key + c, smaller(lanes, tile.n_keys - c), stride,
                             [&](std::int64_t i, const V& b) {
                               T* s = scores + (c + i) * tile.key_stride;
                               store<T, A>(s, with_bias(load<T, A>(s), b));
                             });
      }
    });
  }

  /// Keys in lanes: key_stride 1, row_stride a multiple of lanes; lanes beyond the last key may be
  /// read and written, those beyond it in the bias are not.
  static void apply_to_rows(const Terms& terms, const Tile<T>& tile) {
    const std::int64_t padded = round_up(tile.n_keys, lanes);
    for (std::int64_t r = 0; r < tile.n_rows; ++r) {
      const RowTerms& row = terms.rows[tile.first_row + r];
      T* scores = tile.scores + r * tile.row_stride;
      if (terms.has_softcap) softcap(terms, scores, padded);
      if (terms.has_alibi) alibi_row(row, tile, scores);
      if (terms.has_bias) bias_row(terms, row, tile, scores);
    }
    if (terms.hook) hook(terms, tile);
  }

  static void alibi_row(const RowTerms& row, const Tile<T>& tile, T* scores) {
    alignas(64) T steps[lanes];
    for (int i = 0; i < lanes; ++i) steps[i] = static_cast<T>(i);
    const V step = load<T, A>(steps), slope(static_cast<T>(row.slope));
    const V position(block_position(row, tile.first_key));
    const std::int64_t first = tile.first_key % kKeyBlock;
    for (std::int64_t c = 0; c < tile.n_keys; c += lanes) {
      const V key = V(static_cast<T>(first + c)) + step;
      store<T, A>(scores + c, with_alibi(load<T, A>(scores + c), slope, position, key));
    }
  }

  static void bias_row(const Terms& terms, const RowTerms& row, const Tile<T>& tile, T* scores) {
    with_storage(terms.bias_type, [&]<class S>() {
      const S* bias = static_cast<const S*>(row.bias) + tile.first_key * terms.bias_key_stride;
      alignas(64) T widened[kKeyBlock];
      widen_row<S, T, A>(bias, terms.bias_key_stride, tile.n_keys, widened);
      for (std::int64_t c = tile.n_keys; c < round_up(tile.n_keys, lanes); ++c) widened[c] = T(0);
      for (std::int64_t c = 0; c < tile.n_keys; c += lanes) {
        store<T, A>(scores + c, with_bias(load<T, A>(scores + c), load<T, A>(widened + c)));
      }
    });
  }
};

}  // namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA
