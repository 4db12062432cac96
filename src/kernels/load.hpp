// Rows of keys or values as a kernel wants them: in place where they are plain, else copied into
// scratch, once per key block.
#pragma once

#include "kernels/kernel_table.hpp"
#include "kernels/simd.hpp"

namespace lookback::kernels {

/// Rows of the compute type with feature stride 1.
template <class T>
struct Panel {
  const T* data;
  std::int64_t stride;
};

/// Rows whose distance is a multiple of a page fall on the same few sets of the L1 cache.
template <class T>
inline bool collides_in_l1(std::int64_t row_stride) {
  return row_stride != 0 && row_stride * static_cast<std::int64_t>(sizeof(T)) % 4096 == 0;
}

template <class T>
inline void copy_rows(const Matrix& from, std::int64_t first, std::int64_t count,
                      std::int64_t features, T* to, std::int64_t to_stride) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T* row = static_cast<const T*>(from.data) + (first + i) * from.row_stride;
    T* copy = to + i * to_stride;
    if (from.feature_stride == 1) {
      for (std::int64_t f = 0; f < features; ++f) copy[f] = row[f];
    } else {
      for (std::int64_t f = 0; f < features; ++f) copy[f] = row[f * from.feature_stride];
    }
    for (std::int64_t f = features; f < to_stride; ++f) copy[f] = T(0);
  }
}

/// Rows [first, first + count). The copy, if one is made, has `padded` features, the last ones 0.
template <class T>
inline Panel<T> load_rows(const Matrix& from, std::int64_t first, std::int64_t count,
                          std::int64_t features, std::int64_t padded, bool avoid_collisions,
                          T* scratch) {
  const bool plain = (from.feature_stride == 1 || features <= 1) && features == padded &&
                     !(avoid_collisions && collides_in_l1<T>(from.row_stride));
  if (plain) return {static_cast<const T*>(from.data) + first * from.row_stride, from.row_stride};
  copy_rows<T>(from, first, count, features, scratch, padded);
  return {scratch, padded};
}

}  // namespace lookback::kernels
