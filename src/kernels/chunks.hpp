// Chunks of keys: each computed afresh by a kernel shape, then folded left to right.
#pragma once

#include "kernels/few_rows.hpp"
#include "kernels/many_rows.hpp"

namespace lookback::kernels {

template <class T, class A>
struct Chunks {
  using V = Vec<T, A>;
  using Softmax = SoftmaxState<T, A>;
  static constexpr std::int64_t lanes = kLanes<T, A>;

  static State<T> state_at(T* memory, const Sizes& sizes) {
    return {memory, memory + sizes.padded_rows, memory + 2 * sizes.padded_rows};
  }

  static void clear(const State<T>& state, const Sizes& sizes) {
    for (std::int64_t r = 0; r < sizes.padded_rows; r += lanes) {
      Softmax::empty().put(state.max + r, state.sum + r);
    }
    for (std::int64_t i = 0; i < sizes.padded_rows * sizes.blend_stride; i += lanes) {
      store<T, A>(state.blend + i, V(T(0)));
    }
  }

  static void fold(const State<T>& a, const State<T>& b, const Sizes& sizes, T rate) {
    for (std::int64_t r = 0; r < sizes.padded_rows; r += lanes) {
      Softmax joint = Softmax::at(a.max + r, a.sum + r);
      V mine, theirs;
      joint.fold(Softmax::at(b.max + r, b.sum + r), V(rate), mine, theirs);
      joint.put(a.max + r, a.sum + r);
      alignas(64) T factor_a[lanes], factor_b[lanes];
      store<T, A>(factor_a, mine);
      store<T, A>(factor_b, theirs);
      for (std::int64_t i = 0; i < lanes; ++i) {
        T* into = a.blend + (r + i) * sizes.blend_stride;
        const T* from = b.blend + (r + i) * sizes.blend_stride;
        for (std::int64_t c = 0; c < sizes.blend_stride; c += lanes) {
          store<T, A>(into + c, multiply_add(load<T, A>(from + c), V(factor_b[i]),
                                             load<T, A>(into + c) * V(factor_a[i])));
        }
      }
    }
  }

  static bool is_finite(const T* blend, std::int64_t stride) {
    V zero(T(0));
    for (std::int64_t c = 0; c < stride; c += lanes) {
      const V x = load<T, A>(blend + c);
      zero = zero + (x - x);  // 0, or NaN for NaN and infinity
    }
    return xsimd::all(zero == V(T(0)));
  }

  /// The kernels multiply hidden values by a weight of 0, which is right unless they are NaN or
  /// infinite. Then the blend shows it, and the row's chunk is done again leaving them out.
  static void redo_rows_with_non_finite_blend(const RowBlock<T>& block, std::int64_t first,
                                              std::int64_t end, const State<T>& state,
                                              const Sizes& sizes, T* workspace) {
    const Sizes one = FewRows<T, A>::sizes(1, block.d, block.d_v);
    const State<T> redone = state_at(workspace, one);
    for (std::int64_t r = 0; r < block.n_rows; ++r) {
      T* blend = state.blend + r * sizes.blend_stride;
      if (is_finite(blend, sizes.blend_stride)) continue;
      RowBlock<T> row = block;
      row.rows = block.rows + r;
      row.n_rows = 1;
      clear(redone, one);
      T* scratch = workspace + one.state();
      FewRows<T, A>::prepare(row, typename FewRows<T, A>::Scratch(scratch, block.d));
      const std::int64_t from = greater(first, row.rows->first_key);
      FewRows<T, A>::chunk(row, from, smaller(end, row.rows->end_key), redone, scratch, true);
      state.max[r] = redone.max[0];
      state.sum[r] = redone.sum[0];
      for (std::int64_t c = 0; c < sizes.blend_stride; ++c) blend[c] = redone.blend[c];
    }
  }

  /// Workspace of attend<Shape>: the shape's own, a chunk's state, and what redoing a row takes.
  template <class Shape>
  static Sizes sizes(std::int64_t n_rows, std::int64_t d, std::int64_t d_v) {
    Sizes all = Shape::sizes(n_rows, d, d_v);
    const Sizes one = FewRows<T, A>::sizes(1, d, d_v);
    all.workspace += all.state() + one.state() + one.workspace;
    return all;
  }

  template <class Shape>
  static void attend(const RowBlock<T>& block, std::int64_t first_chunk, std::int64_t end_chunk,
                     const State<T>& state, bool fresh, T* workspace) {
    const Sizes sizes = Shape::sizes(block.n_rows, block.d, block.d_v);
    const State<T> chunk_state = state_at(workspace, sizes);
    T* const scratch = workspace + sizes.state();
    T* const redo_scratch = scratch + sizes.workspace;
    Shape::prepare(block, scratch_of<Shape>(block, scratch));
    if (fresh) clear(state, sizes);

    std::int64_t first_seen = block.rows[0].first_key, end_seen = block.rows[0].end_key;
    for (std::int64_t r = 1; r < block.n_rows; ++r) {
      first_seen = smaller(first_seen, block.rows[r].first_key);
      end_seen = greater(end_seen, block.rows[r].end_key);
    }
    for (std::int64_t c = first_chunk; c < end_chunk; ++c) {
      const std::int64_t first = greater(c * kChunk, first_seen);
      const std::int64_t end = smaller((c + 1) * kChunk, end_seen);
      if (first >= end) continue;
      const State<T>& into = fresh ? state : chunk_state;
      if (!fresh) clear(chunk_state, sizes);
      Shape::chunk(block, first, end, into, scratch);
      redo_rows_with_non_finite_blend(block, first, end, into, sizes, redo_scratch);
      if (!fresh) fold(state, chunk_state, sizes, block.rate);
      fresh = false;
    }
  }

  template <class Shape>
  static typename Shape::Scratch scratch_of(const RowBlock<T>& block, T* memory) {
    if constexpr (std::is_same_v<Shape, FewRows<T, A>>) {
      return {memory, block.d};
    } else {
      return {memory, round_up(block.n_rows, lanes), block.d};
    }
  }

  static void finish(const RowBlock<T>& block, const State<T>& state, const Sizes& sizes) {
    alignas(64) T inverse[lanes];
    for (std::int64_t r = 0; r < block.n_rows; ++r) {
      if (r % lanes == 0) {
        store<T, A>(inverse, Softmax::at(state.max + r, state.sum + r).inverse());
      }
      const Row& row = block.rows[r];
      const T* blend = state.blend + r * sizes.blend_stride;
      T* out = static_cast<T*>(row.out);
      for (std::int64_t f = 0; f < block.d_v; ++f) {
        out[f * block.out_feature_stride] = blend[f] * inverse[r % lanes];
      }
      if (row.lse) {
        *static_cast<T*>(row.lse) = log_sum_exp(state.max[r], state.sum[r], block.temperature);
      }
    }
  }

  static constexpr Kernels<T> kernels() {
    using Few = FewRows<T, A>;
    using Many = ManyRows<T, A>;
    return {{lanes, sizes<Many>, attend<Many>},
            {1, sizes<Few>, attend<Few>},
            Few::kMaxRows,
            fold,
            finish,
            lanes};
  }
};

template <class A>
constexpr KernelTable make_kernel_table() {
  return {Chunks<float, A>::kernels(), Chunks<double, A>::kernels()};
}

}  // namespace lookback::kernels
