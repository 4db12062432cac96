// Chunks of keys: each computed afresh by a kernel shape, then folded left to right.
#pragma once

#include "kernels/align_rows.hpp"
#include "kernels/convert.hpp"
#include "kernels/few_rows.hpp"
#include "kernels/isa.hpp"
#include "kernels/many_rows.hpp"

namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA {

template <class T, class A>
struct Chunks {
  using V = Vec<T, A>;
  using Softmax = SoftmaxState<T, A>;
  static constexpr std::int64_t lanes = kLanes<T, A>;

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

  /// n is a multiple of lanes.
  static bool all_finite(const T* x, std::int64_t n) {
    constexpr int chains = 4;  // one would wait for itself
    V zero[chains];
    for (V& z : zero) z = V(T(0));
    const auto add = [&](int chain, const T* at) {
      const V v = load<T, A>(at);
      zero[chain] = zero[chain] + (v - v);  // 0, or NaN for NaN and infinity
    };
    std::int64_t i = 0;
    for (; i + chains * lanes <= n; i += chains * lanes) {
#pragma GCC unroll 4
      for (int c = 0; c < chains; ++c) add(c, x + i + c * lanes);
    }
    for (; i < n; i += lanes) add(0, x + i);
    return xsimd::all((zero[0] + zero[1]) + (zero[2] + zero[3]) == V(T(0)));
  }

  /// The kernels multiply hidden values by a weight of 0, which is right unless they are NaN or
  /// infinite. Then the blend shows it, and the row's chunk is done again leaving them out.
  static void redo_rows_with_non_finite_blend(const RowBlock<T>& block, std::int64_t first,
                                              std::int64_t end, const State<T>& state,
                                              const Sizes& sizes, T* workspace) {
    if (all_finite(state.blend, block.n_rows * sizes.blend_stride)) return;
    const Sizes one = FewRows<T, A>::sizes(1, block.d, block.d_v);
    const State<T> redone = state_at<T>(workspace, one);
    for (std::int64_t r = 0; r < block.n_rows; ++r) {
      T* blend = state.blend + r * sizes.blend_stride;
      if (all_finite(blend, sizes.blend_stride)) continue;
      Visibility visibility;
      Terms terms;
      const RowBlock<T> row = block.part(r, 1, visibility, terms);
      T* scratch = workspace + one.state();
      FewRows<T, A>::prepare(row, {row, scratch});
      const RangeOfRows seen(row.rows, 1);
      const std::int64_t from = greater(first, seen.first);
      FewRows<T, A>::chunk(row, seen, from, smaller(end, seen.end), redone, scratch, true);
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
    const State<T> chunk_state = state_at<T>(workspace, sizes);
    T* const scratch = workspace + sizes.state();
    T* const redo_scratch = scratch + sizes.workspace;
    Shape::prepare(block, {block, scratch});
    const RangeOfRows seen(block.rows, block.n_rows);
    for (std::int64_t c = first_chunk; c < end_chunk; ++c) {
      const std::int64_t first = greater(c * kChunk, seen.first);
      const std::int64_t end = smaller((c + 1) * kChunk, seen.end);
      if (first >= end) continue;
      const State<T>& into = fresh ? state : chunk_state;
      Shape::chunk(block, seen, first, end, into, scratch);
      redo_rows_with_non_finite_blend(block, first, end, into, sizes, redo_scratch);
      if (!fresh) fold(state, chunk_state, sizes, block.rate);
      fresh = false;
    }
    if (fresh) clear_state<T, A>(state, sizes);
  }

  static RowEnd<T> end_of(const RowBlock<T>& block, const State<T>& state, std::int64_t r) {
    const bool has_sink =
        block.terms && block.terms->has_sinks && block.terms->rows[r].sink != -kInfinity<double>;
    if (has_sink) {
      return end_with_sink<T, A>(state.max[r], state.sum[r], block.temperature,
                                 block.terms->rows[r].sink);
    }
    return {inverse_of(state.sum[r]),
            block.rows[r].lse ? log_sum_exp(state.max[r], state.sum[r], block.temperature) : T(0)};
  }

  static void finish(const RowBlock<T>& block, const State<T>& state, const Sizes& sizes) {
    with_storage_of<T>(block.out_type, [&]<class S>() {
      for (std::int64_t r = 0; r < block.n_rows; ++r) {
        const Row& row = block.rows[r];
        const RowEnd<T> end = end_of(block, state, r);
        write_row(state.blend + r * sizes.blend_stride, end.inverse, block.d_v,
                  static_cast<S*>(row.out), block.out_feature_stride);
        if (row.lse) *static_cast<T*>(row.lse) = end.lse;
        if (row.statistics) {
          T* statistics = static_cast<T*>(row.statistics);
          statistics[0] = state.max[r];
          statistics[1] = end.inverse;
        }
      }
    });
  }

  /// The blend times its factor, rounded to S.
  template <class S>
  static void write_row(const T* blend, T factor, std::int64_t count, S* to, std::int64_t stride) {
    std::int64_t i = 0;
    if constexpr (std::is_same_v<S, T>) {
      for (; stride == 1 && i + lanes <= count; i += lanes) {
        store<T, A>(to + i, load<T, A>(blend + i) * V(factor));
      }
    }
    if (stride == 1) {
      for (; i < count; ++i) narrow(blend[i] * factor, to[i]);
    } else {
      for (; i < count; ++i) narrow(blend[i] * factor, to[i * stride]);
    }
  }

  static T merge_row(const MergePart<T>* parts, std::int64_t n_parts, std::int64_t features,
                     void* out, Type out_type, std::int64_t out_stride, T* weights) {
    T max = -kInfinity<T>, sum = 0;
    for (std::int64_t p = 0; p < n_parts; ++p) {
      if (!(parts[p].lse <= max)) max = parts[p].lse;
    }
    const T origin = max == -kInfinity<T> ? T(0) : max;
    for (std::int64_t p = 0; p < n_parts; ++p) {
      alignas(64) T lane[lanes];
      constexpr T log2_e = static_cast<T>(0x1.71547652b82fep+0);
      store<T, A>(lane, exp2_nonpositive<T, A>(V((parts[p].lse - origin) * log2_e)));
      weights[p] = lane[0];
      if (parts[p].lse != -kInfinity<T>) sum += weights[p];
    }
    const T inverse = inverse_of(sum);
    constexpr std::int64_t stretch = 64;
    for (std::int64_t f = 0; f < features; f += stretch) {
      const std::int64_t count = smaller(stretch, features - f);
      T blend[stretch] = {};
      for (std::int64_t p = 0; p < n_parts; ++p) {
        if (parts[p].lse == -kInfinity<T>) continue;
        with_storage_of<T>(parts[p].type, [&]<class P>() {
          const std::int64_t step = parts[p].feature_stride;
          const P* from = static_cast<const P*>(parts[p].out) + f * step;
          for (std::int64_t i = 0; i < count; ++i)
            blend[i] += weights[p] * widen<T>(from[i * step]);
        });
      }
      with_storage_of<T>(out_type, [&]<class S>() {
        write_row(blend, inverse, count, static_cast<S*>(out) + f * out_stride, out_stride);
      });
    }
    return log_sum_exp(max, sum, 1.0);
  }

  static constexpr Kernels<T> kernels() {
    using Few = FewRows<T, A>;
    using Many = ManyRows<T, A>;
    return {{Many::kTileLanes, sizes<Many>, attend<Many>},
            {1, sizes<Few>, attend<Few>},
            Few::kMaxRows,
            fold,
            finish,
            merge_row,
            AlignKernel<T, A>::workspace,
            AlignKernel<T, A>::run,
            lanes};
  }
};

template <class A>
constexpr KernelTable make_kernel_table() {
  return {Chunks<float, A>::kernels(), Chunks<double, A>::kernels()};
}

}  // namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA
