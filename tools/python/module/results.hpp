// New arrays for what the engine writes.
#pragma once

#include <span>
#include <vector>

#include "array.hpp"

namespace lookback::python {

/// Extents as an array of this many axes has them, [B, H, n, d] less its leading ones.
inline std::vector<std::int64_t> shape_of(const Extents& extent, std::size_t rank, Layout layout) {
  Extents ordered = extent;
  if (layout != Layout::heads_first && rank > 2) std::swap(ordered[1], ordered[2]);
  return {ordered.end() - static_cast<std::ptrdiff_t>(rank), ordered.end()};
}

/// lse and the statistics of a call.
inline Type statistics_type(Type type_of_q) {
  return type_of_q == Type::float64 ? Type::float64 : Type::float32;
}

/// An array for numbers [B, H, n, m] of which as many leading axes are left out as q has fewer than
/// 4; the last as well if m stands for one number.
class Result {
 public:
  Result(const Array& q, const Extents& extent, Type type, bool keeps_last_axis = true)
      : object_(make_array(q.object(), shape(q, extent, keeps_last_axis), type)),
        array_(object_, "a result"),
        view_{array_.data(), type, extent, strides(extent)} {}

  const OutputTensor& view() const { return view_; }
  const nb::object& object() const { return object_; }

 private:
  static std::vector<std::int64_t> shape(const Array& q, const Extents& extent, bool keeps_last) {
    return {extent.end() - static_cast<std::ptrdiff_t>(q.rank()),
            extent.end() - (keeps_last ? 0 : 1)};
  }
  static Strides strides(const Extents& e) { return {e[1] * e[2] * e[3], e[2] * e[3], e[3], 1}; }

  nb::object object_;
  Array array_;
  OutputTensor view_;
};

}  // namespace lookback::python
