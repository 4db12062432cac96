#include "support/stored_array.hpp"

#include <cmath>
#include <cstring>

namespace lookback::test {
namespace {

/// An IEEE format of 16 bits.
struct Format {
  int mantissa_bits;
  int lowest_exponent;
  std::uint16_t infinity;
};
constexpr Format kFloat16{10, -14, 0x7C00}, kBfloat16{7, -126, 0x7F80};

constexpr const Format& format_of(Type type) {
  return type == Type::float16 ? kFloat16 : kBfloat16;
}

Real widened(std::uint16_t bits, const Format& f) {
  const int magnitude = bits & 0x7FFF, fraction = magnitude & ((1 << f.mantissa_bits) - 1);
  const int exponent = magnitude >> f.mantissa_bits;
  Real x = 0;
  if (magnitude >= f.infinity)
    x = magnitude == f.infinity ? Real(INFINITY) : Real(NAN);
  else if (exponent == 0)
    x = std::ldexp(Real(fraction), f.lowest_exponent - f.mantissa_bits);
  else
    x = std::ldexp(Real(fraction + (1 << f.mantissa_bits)),
                   f.lowest_exponent + exponent - 1 - f.mantissa_bits);
  return bits & 0x8000 ? -x : x;
}

std::uint16_t narrowed(Real x, const Format& f) {
  const int sign = std::signbit(x) ? 0x8000 : 0;
  if (std::isnan(x)) return static_cast<std::uint16_t>(sign | 0x7FFF);
  const Real magnitude = std::fabs(x);
  if (std::isinf(x)) return static_cast<std::uint16_t>(sign | f.infinity);
  const int exponent =
      magnitude == 0 ? f.lowest_exponent : std::max(std::ilogb(magnitude), f.lowest_exponent);
  if (exponent > 200) return static_cast<std::uint16_t>(sign | f.infinity);
  const Real units = std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent));
  // A carry out of the fraction is just what raises the exponent.
  const int bits = ((exponent - f.lowest_exponent) << f.mantissa_bits) + static_cast<int>(units);
  return static_cast<std::uint16_t>(sign | std::min<int>(bits, f.infinity));
}

template <class T>
T load(const void* from) {
  T x;
  std::memcpy(&x, from, sizeof(T));
  return x;
}
template <class T>
void store(void* to, T x) {
  std::memcpy(to, &x, sizeof(T));
}

}  // namespace

Real read_element(Type type, const void* from) {
  switch (type) {
    case Type::float64:
      return load<double>(from);
    case Type::float32:
      return load<float>(from);
    case Type::boolean:
      return load<std::uint8_t>(from) == 0 ? 0 : 1;
    default:
      return widened(load<std::uint16_t>(from), format_of(type));
  }
}

void write_element(Type type, void* to, Real x) {
  switch (type) {
    case Type::float64:
      return store(to, static_cast<double>(x));
    case Type::float32:
      return store(to, static_cast<float>(x));
    case Type::boolean: {
      static constexpr std::uint8_t kTrue[] = {1, 2, 128, 255, 64};
      const auto at = reinterpret_cast<std::uintptr_t>(to) % std::size(kTrue);
      return store(to, x == 0 ? std::uint8_t{0} : kTrue[at]);
    }
    default:
      return store(to, narrowed(x, format_of(type)));
  }
}

const std::byte* place_of(const Tensor& x, std::int64_t b, std::int64_t h, std::int64_t i,
                          std::int64_t c) {
  const auto& s = x.stride;
  const std::int64_t index = b * s[0] + h * s[1] + i * s[2] + c * s[3];
  return static_cast<const std::byte*>(x.data) + index * size_of(x.type);
}

StoredArray::StoredArray(Type type, const Extents& extent, const Strides& stride)
    : type_(type), extent_(extent), stride_(stride) {
  std::int64_t lowest = 0, highest = 0;
  for (std::size_t a = 0; a < 4; ++a) {
    const std::int64_t reach = std::max<std::int64_t>(extent[a] - 1, 0) * stride[a];
    (reach < 0 ? lowest : highest) += reach;
  }
  first_ = -lowest;
  data_.assign(static_cast<std::size_t>((highest - lowest + 1) * size_of(type)), std::byte{0xFF});
}

StoredArray stored_as(Type type, const Tensor& x) {
  StoredArray array(type, x.extent);
  array.fill([&](auto b, auto h, auto i, auto c) { return value_of(x, b, h, i, c); });
  return array;
}

bool holds(Type type, const Tensor& x) {
  bool exact = true;
  const StoredArray array = stored_as(type, x);
  array.for_each_place([&](auto b, auto h, auto i, auto c) {
    exact = exact && close(array.at(b, h, i, c), value_of(x, b, h, i, c), 0);
  });
  return exact;
}

}  // namespace lookback::test
