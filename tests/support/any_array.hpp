// An owned array of any storage type and strides. Elements are read and written as doubles, which
// hold all of them exactly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "support/compare.hpp"
#include "support/storage.hpp"

namespace lookback::test {

class AnyArray {
 public:
  AnyArray() : AnyArray(Type::float32, {0, 0, 0, 0}, {0, 0, 0, 0}) {}
  /// Every byte starts as `fill`: 0xff makes NaN of every floating-point type.
  AnyArray(Type type, const Extents& extent, const Strides& stride, int fill = 0xff)
      : type_(type), extent_(extent), stride_(stride) {
    std::int64_t last = 0;
    for (std::size_t a = 0; a < 4; ++a) {
      const std::int64_t reach = std::max<std::int64_t>(extent[a] - 1, 0) * stride[a];
      (reach < 0 ? first_ : last) += reach;
    }
    const std::int64_t count = is_empty() ? 0 : last - first_ + 1;
    bytes_.assign(static_cast<std::size_t>(count * size_of(type)),
                  static_cast<std::byte>(static_cast<unsigned char>(fill)));
  }
  AnyArray(Type type, const Extents& extent)
      : AnyArray(type, extent,
                 {extent[1] * extent[2] * extent[3], extent[2] * extent[3], extent[3], 1}) {}

  double get(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c) const {
    const std::byte* at = bytes_.data() + offset(b, h, i, c);
    if (type_ == Type::boolean) return *at != std::byte{0};
    return with_element(type_, [at]<class S>() {
      S x;
      std::memcpy(&x, at, sizeof(S));
      return value_of(x);
    });
  }
  /// Rounded to the type.
  void set(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c, double value) {
    std::byte* at = bytes_.data() + offset(b, h, i, c);
    with_element(type_, [at, value]<class S>() {
      const S x = stored<S>(value);
      std::memcpy(at, &x, sizeof(S));
    });
  }
  /// Any byte but 0 is true.
  void set_byte(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c, int value) {
    bytes_[offset(b, h, i, c)] = static_cast<std::byte>(static_cast<unsigned char>(value));
  }

  Tensor view() const { return at_address(bytes_.data()); }
  OutputTensor output() {
    return {bytes_.data() - first_ * size_of(type_), type_, extent_, stride_};
  }
  /// The same view of a copy of bytes() that stands elsewhere.
  Tensor at_address(const std::byte* copy) const {
    return {copy - first_ * size_of(type_), type_, extent_, stride_};
  }

  Type type() const { return type_; }
  const Extents& extent() const { return extent_; }
  std::int64_t extent(std::size_t axis) const { return extent_[axis]; }
  const Strides& stride() const { return stride_; }
  std::vector<std::byte>& bytes() { return bytes_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  bool is_empty() const {
    return std::any_of(extent_.begin(), extent_.end(), [](std::int64_t e) { return e == 0; });
  }

  /// f(b, h, i, c) for every element, row-major.
  template <class F>
  void for_each_place(F f) const {
    for (std::int64_t b = 0; b < extent_[0]; ++b)
      for (std::int64_t h = 0; h < extent_[1]; ++h)
        for (std::int64_t i = 0; i < extent_[2]; ++i)
          for (std::int64_t c = 0; c < extent_[3]; ++c) f(b, h, i, c);
  }
  template <class F>
  void fill(F generate) {
    for_each_place([&](auto b, auto h, auto i, auto c) { set(b, h, i, c, generate()); });
  }
  /// The whole storage, gaps included, as repetitions of one element.
  void fill_storage(double value) {
    with_element(type_, [&]<class S>() {
      const S x = stored<S>(value);
      for (std::size_t at = 0; at < bytes_.size(); at += sizeof(S))
        std::memcpy(bytes_.data() + at, &x, sizeof(S));
    });
  }

  /// A compact copy of part of it, in its own type unless another is given.
  AnyArray part(const Extents& start, const Extents& count) const {
    AnyArray copy(type_, count);
    copy.for_each_place([&](auto b, auto h, auto i, auto c) {
      std::memcpy(copy.bytes_.data() + copy.offset(b, h, i, c),
                  bytes_.data() + offset(start[0] + b, start[1] + h, start[2] + i, start[3] + c),
                  static_cast<std::size_t>(size_of(type_)));
    });
    return copy;
  }
  AnyArray compact() const { return part({0, 0, 0, 0}, extent_); }
  AnyArray as(Type type) const {
    AnyArray copy(type, extent_);
    copy.for_each_place(
        [&](auto b, auto h, auto i, auto c) { copy.set(b, h, i, c, get(b, h, i, c)); });
    return copy;
  }

  std::size_t offset(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c) const {
    return static_cast<std::size_t>(
        (b * stride_[0] + h * stride_[1] + i * stride_[2] + c * stride_[3] - first_) *
        size_of(type_));
  }

 private:
  Type type_;
  Extents extent_;
  Strides stride_;
  std::int64_t first_ = 0;  // index of the lowest element, at or below 0
  std::vector<std::byte> bytes_;
};

/// Values that differ, up to which NaN a NaN is and the sign of a zero.
inline std::string bit_difference(const AnyArray& actual, const AnyArray& expected) {
  Difference found;
  if (actual.extent() != expected.extent()) {
    found.note("the extents");
    return found.text();
  }
  actual.for_each_place([&](auto b, auto h, auto i, auto c) {
    const double a = actual.get(b, h, i, c), e = expected.get(b, h, i, c);
    found.expect(same_bits(a, e), a, e, b, h, i, c);
  });
  return found.text();
}

}  // namespace lookback::test
