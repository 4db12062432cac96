// Views of arrays: pointer, element type, four extents, four strides. They own nothing.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

namespace lookback {

/// How an element is stored. boolean is one byte: 0 is false, anything else true. int64 is for
/// results that are places, such as the index of a key.
enum class Type : std::uint8_t { float32, float64, bfloat16, float16, boolean, int64 };

/// 16-bit storage, as bit patterns; converted exactly to float32 and rounded to nearest even from
/// it.
struct bfloat16 {
  std::uint16_t bits;
};
struct float16 {
  std::uint16_t bits;
};

template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, float>) return Type::float32;
  if constexpr (std::is_same_v<T, double>) return Type::float64;
  if constexpr (std::is_same_v<T, bfloat16>) return Type::bfloat16;
  if constexpr (std::is_same_v<T, float16>) return Type::float16;
  if constexpr (std::is_same_v<T, std::int64_t>) return Type::int64;
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> ||
                    std::is_same_v<T, bfloat16> || std::is_same_v<T, float16> ||
                    std::is_same_v<T, std::int64_t> ||
                    (std::is_same_v<T, bool> && sizeof(bool) == 1),
                "elements are float, double, bfloat16, float16, int64_t or bool");
  return Type::boolean;
}

constexpr std::int64_t size_of(Type type) {
  constexpr std::int64_t bytes[] = {4, 8, 2, 2, 1, 8};  // in the order of Type
  return bytes[static_cast<int>(type)];
}
constexpr const char* name_of(Type type) {
  constexpr const char* names[] = {"float32", "float64", "bfloat16", "float16", "boolean", "int64"};
  return names[static_cast<int>(type)];
}
constexpr bool is_floating_point(Type type) {
  return type != Type::boolean && type != Type::int64;
}

/// [batch, head, position, feature], in this order whatever the layout in memory.
using Extents = std::array<std::int64_t, 4>;
/// In elements, not bytes. Inputs may have any strides (0 repeats, negative runs backwards); the
/// stride of an axis of extent 1 is ignored.
using Strides = std::array<std::int64_t, 4>;

/// An array to read from. data may be null when an extent is 0.
struct Tensor {
  const void* data = nullptr;
  Type type = Type::float32;
  Extents extent{};
  Strides stride{};
};

/// An array to write to. Its elements must be distinct places in memory.
struct OutputTensor {
  void* data = nullptr;
  Type type = Type::float32;
  Extents extent{};
  Strides stride{};

  /// What can be written can be read.
  constexpr operator Tensor() const { return {data, type, extent, stride}; }  // NOLINT
};

/// Tensor for a pointer to const, OutputTensor for a pointer to mutable.
template <class T>
using TensorOf = std::conditional_t<std::is_const_v<T>, Tensor, OutputTensor>;

template <class T>
constexpr TensorOf<T> strided(T* data, const Extents& extent, const Strides& stride) {
  return {data, type_of<std::remove_const_t<T>>(), extent, stride};
}

/// A contiguous array [B, H, n, d].
template <class T>
constexpr TensorOf<T> heads_first(T* data, std::int64_t B, std::int64_t H, std::int64_t n,
                                  std::int64_t d) {
  return strided(data, {B, H, n, d}, {H * n * d, n * d, d, 1});
}

/// A contiguous array [B, n, H, d], as projections leave it.
template <class T>
constexpr TensorOf<T> positions_first(T* data, std::int64_t B, std::int64_t n, std::int64_t H,
                                      std::int64_t d) {
  return strided(data, {B, H, n, d}, {n * H * d, d, H * d, 1});
}

/// A contiguous array of all tokens of all sequences, [tokens, H, d]; see Options::q_bounds.
template <class T>
constexpr TensorOf<T> packed(T* data, std::int64_t tokens, std::int64_t H, std::int64_t d) {
  return positions_first(data, 1, tokens, H, d);
}

/// A contiguous matrix [n, d]: one sequence, one head.
template <class T>
constexpr TensorOf<T> matrix(T* data, std::int64_t n, std::int64_t d) {
  return heads_first(data, 1, 1, n, d);
}

/// One number per query row, contiguous [B, H, n], as lse is written.
template <class T>
constexpr TensorOf<T> per_row(T* data, std::int64_t B, std::int64_t H, std::int64_t n) {
  return heads_first(data, B, H, n, 1);
}

}  // namespace lookback
