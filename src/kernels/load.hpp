// Arrays of any storage type and strides as a kernel wants them. Keys and values are used in place
// where they are plain, else copied into scratch, once per key block.
#pragma once

#include "kernels/convert.hpp"
#include "kernels/isa.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/simd.hpp"
#include "kernels/transpose.hpp"

namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA {

/// Rows of the compute type with feature stride 1.
template <class T>
struct Panel {
  const T* data;
  std::int64_t stride;
};

/// Vectors of features of a panel: narrow, so that a panel of a block of values stays in L1.
inline constexpr int kPanelVectors = 2;

/// Rows cut into panels. Row i of panel p: data + p * step + i * stride.
template <class T>
struct Panels {
  const T* data;
  std::int64_t stride, step;
};

/// Rows whose distance is a multiple of 4 KiB fall on so few sets of the caches that a block of
/// them does not fit.
template <class T>
inline bool collides(std::int64_t row_stride) {
  return row_stride != 0 && row_stride * static_cast<std::int64_t>(sizeof(T)) % 4096 == 0;
}

/// Whether rows can be used where they stand, with `padded` features.
template <class T>
inline bool is_plain(const Matrix& rows, std::int64_t features, std::int64_t padded,
                     bool many_uses) {
  return rows.type == type_of<T>() && (rows.feature_stride == 1 || features <= 1) &&
         features == padded && !(many_uses && collides<T>(rows.row_stride));
}

/// The distance of copied rows, which must not collide either.
template <class T>
inline std::int64_t copy_stride(std::int64_t features) {
  return features + (collides<T>(features) ? 64 / static_cast<std::int64_t>(sizeof(T)) : 0);
}

template <class S, class T, class A>
inline void widen_row(const S* from, std::int64_t stride, std::int64_t count, T* to) {
  std::int64_t i = 0;
  if (stride == 1) {
    for (; i + kLanes<T, A> <= count; i += kLanes<T, A>) {
      store<T, A>(to + i, load_widened<S, T, A>(from + i));
    }
  }
  for (; i < count; ++i) to[i] = widen<T>(from[i * stride]);
}

/// Rows [first, first + count), in place where they are plain and do not collide, which many uses
/// would feel; else a copy, which has `padded` features, the last ones 0.
template <class T, class A>
inline Panel<T> load_rows(const Matrix& from, std::int64_t first, std::int64_t count,
                          std::int64_t features, std::int64_t padded, bool many_uses, T* scratch) {
  if (is_plain<T>(from, features, padded, many_uses)) {
    return {static_cast<const T*>(from.data) + first * from.row_stride, from.row_stride};
  }
  with_storage_of<T>(from.type, [&]<class S>() {
    for (std::int64_t i = 0; i < count; ++i) {
      T* to = scratch + i * copy_stride<T>(padded);
      widen_row<S, T, A>(static_cast<const S*>(from.data) + (first + i) * from.row_stride,
                         from.feature_stride, features, to);
      for (std::int64_t f = features; f < padded; ++f) to[f] = T(0);
    }
  });
  return {scratch, copy_stride<T>(padded)};
}

template <class S, class T, class A>
inline void copy_to_panels(const S* from, std::int64_t stride, std::int64_t features,
                           std::int64_t padded, std::int64_t step, T* to) {
  constexpr std::int64_t lanes = kLanes<T, A>, width = kPanelVectors * lanes;
  const auto at = [&](std::int64_t f) { return to + f / width * step + f % width; };
  std::int64_t f = 0;
  if (stride == 1) {
    for (; f + lanes <= features; f += lanes) store<T, A>(at(f), load_widened<S, T, A>(from + f));
  }
  for (; f < features; ++f) *at(f) = widen<T>(from[f * stride]);
  for (; f < padded; ++f) *at(f) = T(0);
}

/// The same as panels, which are copied panel by panel.
template <class T, class A>
inline Panels<T> load_panels(const Matrix& from, std::int64_t first, std::int64_t count,
                             std::int64_t features, std::int64_t padded, bool many_uses,
                             T* scratch) {
  constexpr std::int64_t width = kPanelVectors * kLanes<T, A>, step = kKeyBlock * width;
  if (is_plain<T>(from, features, padded, many_uses)) {
    return {static_cast<const T*>(from.data) + first * from.row_stride, from.row_stride, width};
  }
  with_storage_of<T>(from.type, [&]<class S>() {
    const S* row = static_cast<const S*>(from.data) + first * from.row_stride;
    for (std::int64_t i = 0; i < count; ++i, row += from.row_stride) {
      copy_to_panels<S, T, A>(row, from.feature_stride, features, padded, step,
                              scratch + i * width);
    }
  });
  return {scratch, width, step};
}

/// The same without a copy for any storage type whose features lie side by side: calls
/// use.operator()<S>(data, stride) with rows of S.
template <class T, class A, class Use>
inline void use_rows(const Matrix& from, std::int64_t first, std::int64_t count,
                     std::int64_t features, std::int64_t padded, T* scratch, const Use& use) {
  if ((from.feature_stride == 1 || features <= 1) && features == padded) {
    with_storage_of<T>(from.type, [&]<class S>() {
      use.template operator()<S>(static_cast<const S*>(from.data) + first * from.row_stride,
                                 from.row_stride);
    });
  } else {
    const Panel<T> copy = load_rows<T, A>(from, first, count, features, padded, false, scratch);
    use.template operator()<T>(copy.data, copy.stride);
  }
}

/// Elements [first, first + count) of a vector of rows, count <= lanes, turned so that rows lie in
/// lanes: calls use(i, column) with element first + i of every row. Inlined by force: from outside
/// what `use` knows would be read anew for each column.
template <class S, class T, class A, int n, class Use>
[[gnu::always_inline]] inline void use_columns(const void* const (&rows)[n], std::int64_t first,
                                               std::int64_t count, std::int64_t stride,
                                               const Use& use) {
  static_assert(n == kLanes<T, A>);
  if (stride == 1 && count == n) {
    const S* row[n];
    for (int r = 0; r < n; ++r) row[r] = static_cast<const S*>(rows[r]);
    Vec<T, A> column[n];
    load_square<S, T, A>(row, first, column);
#pragma GCC unroll 16
    for (int i = 0; i < n; ++i) use(i, column[i]);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    alignas(64) T lane[n];
    for (int r = 0; r < n; ++r) {
      lane[r] = widen<T>(static_cast<const S*>(rows[r])[(first + i) * stride]);
    }
    use(i, load<T, A>(lane));
  }
}

}  // namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA
