// An array of any storage type, kept as bytes: for what Array<T> cannot hold (boolean, 16 bits),
// and for copies that do not care what the elements are.
#pragma once

#include <cstddef>
#include <vector>

#include "support/array.hpp"
#include "support/compare.hpp"

namespace lookback::test {

/// The number, or 1 for true and 0 for false.
Real read_element(Type type, const void* from);

/// Rounds to nearest even. true is stored as any byte but 0, a different one from place to place.
void write_element(Type type, void* to, Real x);

/// The address of an element, whatever its type.
const std::byte* place_of(const Tensor& x, std::int64_t b, std::int64_t h, std::int64_t i,
                          std::int64_t c);

inline Real value_of(const Tensor& x, std::int64_t b, std::int64_t h, std::int64_t i,
                     std::int64_t c) {
  return read_element(x.type, place_of(x, b, h, i, c));
}

/// The element that place (b, h, i, c) of the full extents reads, where an extent of 1 repeats.
inline Real broadcast_value(const Tensor& x, std::int64_t b, std::int64_t h, std::int64_t i,
                            std::int64_t c) {
  const auto& e = x.extent;
  return value_of(x, e[0] == 1 ? 0 : b, e[1] == 1 ? 0 : h, e[2] == 1 ? 0 : i, e[3] == 1 ? 0 : c);
}

class StoredArray {
 public:
  StoredArray() = default;
  explicit StoredArray(Type type, const Extents& extent, Layout layout = Layout::heads_first)
      : StoredArray(type, extent, strides_of(layout, extent)) {}
  /// Elements, and what lies between them, are NaN or true until they are set.
  StoredArray(Type type, const Extents& extent, const Strides& stride);

  Type type() const { return type_; }
  const Extents& extent() const { return extent_; }
  Tensor view() const { return {origin(), type_, extent_, stride_}; }
  OutputTensor output() { return {data_.data() + first(), type_, extent_, stride_}; }

  Real at(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c) const {
    return value_of(view(), b, h, i, c);
  }
  void set(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c, Real x) {
    write_element(type_, place(b, h, i, c), x);
  }
  /// The bytes of one element.
  std::byte* place(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c) {
    return data_.data() + (place_of(view(), b, h, i, c) - data_.data());
  }

  template <class F>
  void for_each_place(F f) const {
    for (std::int64_t b = 0; b < extent_[0]; ++b)
      for (std::int64_t h = 0; h < extent_[1]; ++h)
        for (std::int64_t i = 0; i < extent_[2]; ++i)
          for (std::int64_t c = 0; c < extent_[3]; ++c) f(b, h, i, c);
  }
  /// Every element from value(b, h, i, c).
  template <class F>
  void fill(F value) {
    for_each_place(
        [&](auto b, auto h, auto i, auto c) { set(b, h, i, c, Real(value(b, h, i, c))); });
  }

 private:
  std::int64_t first() const { return first_ * size_of(type_); }
  const std::byte* origin() const { return data_.data() + first(); }

  Type type_ = Type::float32;
  Extents extent_{};
  Strides stride_{};
  std::int64_t first_ = 0;  // index of the element whose indices are 0, from the lowest one
  std::vector<std::byte> data_;
};

/// The same elements in another type; rounded if it does not hold them.
StoredArray stored_as(Type type, const Tensor& x);

/// Whether the type holds every element exactly.
bool holds(Type type, const Tensor& x);

/// A boolean array [B, H, rows, keys] of sees(b, h, i, j).
template <class F>
StoredArray boolean_array(const Extents& extent, F sees, Layout layout = Layout::heads_first) {
  StoredArray array(Type::boolean, extent, layout);
  array.fill([&](auto b, auto h, auto i, auto j) { return sees(b, h, i, j) ? 1 : 0; });
  return array;
}

}  // namespace lookback::test
