// Numbers, and short lists of them, from Python objects.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "array.hpp"

namespace lookback::python {

/// Anything with __float__. Throws TypeError.
double to_double(nb::handle object, const char* name);
/// Anything with __index__. Throws TypeError.
std::int64_t to_int(nb::handle object, const char* name);

/// True for one integer: of Python, of NumPy or an array without axes; not for booleans.
bool is_one_int(nb::handle object);
/// True for one boolean, likewise.
bool is_one_bool(nb::handle object);

/// A list, range or array of integers or of real numbers, of one or two axes. Contiguous arrays of
/// the wanted type are not copied. The object must outlive it.
template <class T>
class Numbers {
 public:
  Numbers(nb::handle object, const char* name);

  std::span<const T> values() const { return values_; }
  std::size_t rank() const { return array_->rank(); }
  std::int64_t extent(std::size_t axis) const { return array_->extent(axis); }
  const char* name() const { return array_->name(); }

 private:
  nb::object object_;
  std::optional<Array> array_;
  std::vector<T> copy_;
  std::span<const T> values_;
};

using Ints = Numbers<std::int64_t>;
using Doubles = Numbers<double>;

}  // namespace lookback::python
