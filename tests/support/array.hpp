// An owned array of any layout, seen as a Tensor or an OutputTensor. What lies between its elements
// is NaN, so that a read beside them shows in the result.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "lookback/tensor.hpp"

namespace lookback::test {

enum class Layout {
  heads_first,        // [B, H, n, d]
  positions_first,    // [B, n, H, d]
  features_first,     // [B, H, d, n]: the feature stride is n
  padded_rows,        // rows 5 elements longer than needed
  spread_features,    // feature stride 3
  backwards,          // every stride negative
  features_outermost  // [d, n, H, B]
};

inline constexpr std::array<Layout, 7> kLayouts = {
    Layout::heads_first,       Layout::positions_first, Layout::features_first,
    Layout::padded_rows,       Layout::spread_features, Layout::backwards,
    Layout::features_outermost};

inline Strides strides_of(Layout layout, const Extents& extent) {
  const auto [B, H, n, d] = extent;
  switch (layout) {
    case Layout::positions_first:
      return {n * H * d, d, H * d, 1};
    case Layout::features_first:
      return {H * n * d, n * d, 1, n};
    case Layout::padded_rows:
      return {H * n * (d + 5), n * (d + 5), d + 5, 1};
    case Layout::spread_features:
      return {H * n * d * 3, n * d * 3, d * 3, 3};
    case Layout::backwards:
      return {-H * n * d, -n * d, -d, -1};
    case Layout::features_outermost:
      return {1, B, B * H, B * H * n};
    case Layout::heads_first:
      break;
  }
  return {H * n * d, n * d, d, 1};
}

template <class T>
class Array {
 public:
  Array() = default;
  explicit Array(const Extents& extent, Layout layout = Layout::heads_first)
      : Array(extent, strides_of(layout, extent)) {}
  Array(const Extents& extent, const Strides& stride) : extent_(extent), stride_(stride) {
    std::int64_t last = 0;
    for (std::size_t a = 0; a < 4; ++a) {
      const std::int64_t reach = std::max<std::int64_t>(extent[a] - 1, 0) * stride[a];
      (reach < 0 ? first_ : last) += reach;
    }
    // At least one, so that an array without elements still has an address.
    data_.assign(static_cast<std::size_t>(last - first_ + 1), std::numeric_limits<T>::quiet_NaN());
  }

  T& at(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c) {
    return data_[index(b, h, i, c)];
  }
  T at(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c) const {
    return data_[index(b, h, i, c)];
  }

  Tensor view() const { return {data_.data() - first_, type_of<T>(), extent_, stride_}; }
  OutputTensor output() { return {data_.data() - first_, type_of<T>(), extent_, stride_}; }
  const Extents& extent() const { return extent_; }
  std::int64_t extent(std::size_t axis) const { return extent_[axis]; }

  /// f(b, h, i, c) for every element, row-major.
  template <class F>
  void for_each_place(F f) const {
    for (std::int64_t b = 0; b < extent_[0]; ++b)
      for (std::int64_t h = 0; h < extent_[1]; ++h)
        for (std::int64_t i = 0; i < extent_[2]; ++i)
          for (std::int64_t c = 0; c < extent_[3]; ++c) f(b, h, i, c);
  }
  /// Every element from generate(), in row-major order whatever the layout.
  template <class F>
  void fill(F generate) {
    for_each_place([&](auto b, auto h, auto i, auto c) { at(b, h, i, c) = T(generate()); });
  }
  void fill_value(T value) {
    fill([value] { return value; });
  }

  /// The same elements in another layout.
  Array with_layout(Layout layout) const { return with_strides(strides_of(layout, extent_)); }
  Array with_strides(const Strides& stride) const {
    Array copy(extent_, stride);
    for_each_place([&](auto b, auto h, auto i, auto c) { copy.at(b, h, i, c) = at(b, h, i, c); });
    return copy;
  }
  /// A compact copy of part of it: from start[axis], count[axis] of each axis.
  Array part(const Extents& start, const Extents& count) const {
    Array copy(count);
    copy.for_each_place([&](auto b, auto h, auto i, auto c) {
      copy.at(b, h, i, c) = at(start[0] + b, start[1] + h, start[2] + i, start[3] + c);
    });
    return copy;
  }
  Array rows(std::int64_t first, std::int64_t count) const {
    return part({0, 0, first, 0}, {extent_[0], extent_[1], count, extent_[3]});
  }
  std::vector<T>& storage() { return data_; }
  const std::vector<T>& storage() const { return data_; }

 private:
  std::size_t index(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c) const {
    return static_cast<std::size_t>(b * stride_[0] + h * stride_[1] + i * stride_[2] +
                                    c * stride_[3] - first_);
  }

  Extents extent_{};
  Strides stride_{};
  std::int64_t first_ = 0;  // index of the lowest element, at or below 0
  std::vector<T> data_ = std::vector<T>(1);
};

}  // namespace lookback::test
