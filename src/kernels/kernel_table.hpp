// What crosses between the engine and its kernels: plain pointers, sizes and structs.
// A kernel knows nothing of threads, batches or options; it gets rows that share keys and values.
#pragma once

#include <cstdint>

#include "lookback/score_hook.h"
#include "lookback/tensor.hpp"

namespace lookback::kernels {

/// Keys per block: a row's maximum is raised, and its sums rescaled, once per block. Part of the
/// arithmetic, so one constant on every machine. Long enough that rescaling the blend costs little
/// (1 in 128 multiply-adds), short enough that a tile's scores and a panel of values share L1.
inline constexpr std::int64_t kKeyBlock = 128;

/// Keys per chunk: a row starts each chunk afresh, and chunks are folded left to right, so chunks
/// can be computed in parallel. Also part of the arithmetic.
inline constexpr std::int64_t kChunk = 512;
static_assert(kChunk % kKeyBlock == 0);

constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}
constexpr std::int64_t greater(std::int64_t a, std::int64_t b) {
  return a < b ? b : a;
}
constexpr std::int64_t clamp(std::int64_t x, std::int64_t low, std::int64_t high) {
  return smaller(greater(x, low), high);
}
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
constexpr std::int64_t round_up(std::int64_t x, std::int64_t step) {
  return ceil_div(x, step) * step;
}

/// A query row: where it is read and written, and the keys it may see: those of
/// [first_key, end_key) outside [gap_first, gap_end). No gap is at end_key.
struct Row {
  const void* query;
  void* out;
  void* lse;         // null when not asked for
  void* statistics;  // likewise: maximum and 1 / sum, two numbers of the compute type
  std::int64_t first_key, gap_first, gap_end, end_key;
};

/// What further decides which of those keys a row sees.
struct RowVisibility {
  const std::uint8_t* mask;    // of key 0
  const std::uint8_t* blocks;  // of key block 0
  std::int64_t document;
};
struct Visibility {
  const RowVisibility* rows;
  bool has_mask;
  std::int64_t mask_key_stride;
  bool has_blocks;
  std::int64_t block_stride;
  std::int64_t keys_per_block;
  const std::int64_t* key_documents;  // null: none
};

/// What is done to a row's scores.
struct RowTerms {
  double slope;
  double sink;
  std::int64_t position;
  const void* bias;  // of key 0
  std::int64_t head, row;
};
struct Terms {
  const RowTerms* rows;
  bool has_softcap;
  double softcap;
  bool has_alibi;
  bool has_bias;
  Type bias_type;
  std::int64_t bias_key_stride;
  lookback_score_hook hook;  // null: none
  void* hook_user;
  std::int64_t sequence;
  bool has_sinks;
  /// Something happens between scoring and masking.
  bool change_scores() const { return has_softcap || has_alibi || has_bias || hook; }
};

/// The keys or the values of one head.
struct Matrix {
  const void* data;
  Type type;
  std::int64_t row_stride;
  std::int64_t feature_stride;
};

/// What the thread works on next, to be fetched: the first rows of each.
struct Ahead {
  Matrix keys, values, queries, out;
  std::int64_t n_keys, n_rows;
};

/// Query rows that share keys and values, with what is the same for all of them.
template <class T>
struct RowBlock {
  const Row* rows;
  std::int64_t n_rows;
  const Visibility* visibility;  // null: ranges only
  const Terms* terms;            // null: none
  Matrix keys;
  Matrix values;
  std::int64_t d;
  std::int64_t d_v;
  Type query_type;
  std::int64_t query_feature_stride;
  Type out_type;
  std::int64_t out_feature_stride;
  T scale;             // multiplies q
  T rate;              // log2(e) / temperature: weights are 2^((s - max) * rate)
  double temperature;  // for lse and sinks
  const Ahead* ahead;  // null: nothing known

  /// The same for some of the rows.
  RowBlock part(std::int64_t first, std::int64_t count, Visibility& v, Terms& t) const {
    RowBlock p = *this;
    p.rows += first;
    p.n_rows = count;
    if (visibility) {
      v = *visibility;
      v.rows += first;
      p.visibility = &v;
    }
    if (terms) {
      t = *terms;
      t.rows += first;
      p.terms = &t;
    }
    return p;
  }
};

/// The running softmax of rows: maximum and sum [padded rows], blend [padded rows][padded d_v].
template <class T>
struct State {
  T* max;
  T* sum;
  T* blend;
};

/// How many elements of T a kernel wants for a block of n_rows rows.
struct Sizes {
  std::int64_t padded_rows;  // rows of a State
  std::int64_t blend_stride;
  std::int64_t workspace;  // besides the State
  std::int64_t state() const { return padded_rows * (blend_stride + 2); }
};

template <class T>
State<T> state_at(T* memory, const Sizes& sizes) {
  return {memory, memory + sizes.padded_rows, memory + 2 * sizes.padded_rows};
}

/// One kernel shape.
template <class T>
struct RowKernel {
  std::int64_t row_step;  // rows come in multiples of this at no extra cost
  Sizes (*sizes)(std::int64_t n_rows, std::int64_t d, std::int64_t d_v);
  /// Folds chunks [first, end) of the keys into the state, which is written first if it is fresh.
  void (*attend)(const RowBlock<T>&, std::int64_t first_chunk, std::int64_t end_chunk,
                 const State<T>&, bool fresh, T* workspace);
};

/// Parts of a row's result over disjoint keys, and where the whole goes.
template <class T>
struct MergePart {
  const void* out;
  Type type;
  std::int64_t feature_stride;
  T lse;
};

/// Rows of the same positions in one or more heads, and where views of their weights go. Null: not
/// asked for. Everything is contiguous and private to the call; per-key arrays start at key 0 and
/// have padded_keys elements; sums start from what is there.
template <class T>
struct AlignRows {
  const RowBlock<T>* heads;  // n_rows and keys are the same in all
  std::int64_t n_heads;
  const T* const* statistics;  // per head [n_rows][2]: maximum and 1 / sum, 0 if it saw nothing
  bool reduce_by_max;          // else by mean
  std::int64_t n_keys;
  std::int64_t first_position;  // of row 0; later rows follow one by one

  T* entropy;  // [n_rows]
  T* largest;
  T* position;
  T* distance;

  std::int64_t top;         // keys per row
  std::int64_t* top_index;  // [n_rows][top]
  T* top_weight;

  std::int64_t received_from_row;
  T* received_sum;
  T* received_max;

  /// Rows of cells this block touches, [cell rows][cell_columns]; row r adds to cell_row[r], -1:
  /// none.
  T* cells;
  const std::int64_t* cell_row;
  const std::int64_t* cell_end;  // [cell_columns]: the key after each column of cells
  std::int64_t cell_columns;
  std::int64_t cell_first_key;
  bool cells_by_max;

  /// mass[n_rows - 1 + j - r]: weight of keys by j - r.
  T* mass;
  double* share;  // [2]: weight of keys below share_keys, weight of all
  std::int64_t share_keys;

  /// Rows in full: weights, or the scores as they stand after the terms of heads[0].
  T* const* full_rows;  // [n_rows]
  std::int64_t full_key_stride;
  bool full_scores;
};

template <class T>
struct Kernels {
  RowKernel<T> many_rows;
  RowKernel<T> few_rows;
  std::int64_t few_rows_limit;  // the most rows few_rows takes, and the most it is better for
  /// a = a then b, for the chunks of b that follow those of a.
  void (*fold)(const State<T>& a, const State<T>& b, const Sizes&, T rate);
  /// Writes out and lse of every row.
  void (*finish)(const RowBlock<T>&, const State<T>&, const Sizes&);
  /// One row of merge(): writes `features` elements of out; returns lse. weights: one T per part.
  T(*merge_row)
  (const MergePart<T>* parts, std::int64_t n_parts, std::int64_t features, void* out, Type out_type,
   std::int64_t out_stride, T* weights);
  std::int64_t (*align_workspace)(std::int64_t n_rows, std::int64_t d, std::int64_t n_heads,
                                  std::int64_t top);
  void (*align)(const AlignRows<T>&, T* workspace);
  int lanes;
};

/// All kernels of one instruction set.
struct KernelTable {
  Kernels<float> float32;
  Kernels<double> float64;

  template <class T>
  const Kernels<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return float32;
    } else {
      return float64;
    }
  }
};

}  // namespace lookback::kernels
