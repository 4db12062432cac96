#include "overlap.hpp"

#include <algorithm>
#include <utility>

namespace lookback {
namespace {

using Wide = __int128;  // products of two extents or strides cannot overflow it

struct Axis {
  std::int64_t stride;  // its absolute value
  std::int64_t extent;
};

bool is_empty(const Tensor& t) {
  return std::any_of(t.extent.begin(), t.extent.end(), [](std::int64_t e) { return e == 0; });
}

/// Axes of more than one element, longest stride first.
struct Axes {
  std::array<Axis, 4> axis{};
  int count = 0;

  explicit Axes(const Tensor& t) {
    for (std::size_t i = 0; i < 4; ++i) {
      if (t.extent[i] <= 1) continue;
      auto at = static_cast<std::size_t>(count++);
      const Axis next{std::abs(t.stride[i]), t.extent[i]};
      for (; at > 0 && axis[at - 1].stride < next.stride; --at) axis[at] = axis[at - 1];
      axis[at] = next;
    }
  }
  const Axis& operator[](int i) const { return axis[static_cast<std::size_t>(i)]; }

  /// Elements from the first to the last, both included, over axes [from, count).
  std::int64_t span(int from) const {
    std::int64_t length = 1;
    for (int i = from; i < count; ++i) length += (*this)[i].stride * ((*this)[i].extent - 1);
    return length;
  }
};

/// First and last byte covered, as [begin, end).
std::pair<std::intptr_t, std::intptr_t> bytes_of(const Tensor& t) {
  std::int64_t low = 0, high = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::int64_t reach = t.extent[i] > 1 ? t.stride[i] * (t.extent[i] - 1) : 0;
    (reach < 0 ? low : high) += reach;
  }
  const auto data = reinterpret_cast<std::intptr_t>(t.data);
  return {data + low * size_of(t.type), data + (high + 1) * size_of(t.type)};
}

/// Slots of one array: the same strides; the outer axes step over whole groups of slots, and within
/// a group the two inner parts lie apart.
bool are_disjoint_slots(const Tensor& a, const Tensor& b) {
  if (size_of(a.type) != size_of(b.type)) return false;
  for (std::size_t i = 0; i < 4; ++i) {
    if (a.extent[i] > 1 && b.extent[i] > 1 && a.stride[i] != b.stride[i]) return false;
  }
  const std::intptr_t distance = bytes_of(b).first - bytes_of(a).first;
  if (distance % size_of(a.type) != 0) return false;
  const std::int64_t offset = distance / size_of(a.type);
  // Where one of the two has a single element along an axis, the other's stride stands for both.
  Tensor joint = a;
  for (std::size_t i = 0; i < 4; ++i) {
    if (b.extent[i] > 1) joint.stride[i] = b.stride[i];
    joint.extent[i] = std::max(a.extent[i], b.extent[i]);
  }
  const Axes axes(joint), axes_a(a), axes_b(b);
  const auto inner_span = [](const Axes& of, std::int64_t step) {
    int from = 0;
    while (from < of.count && of[from].stride >= step) ++from;
    return of.span(from);
  };
  for (int outer = 1; outer <= axes.count; ++outer) {
    const std::int64_t step = axes[outer - 1].stride;
    if (step == 0) continue;
    bool whole_steps = true;
    for (int i = 0; i < outer; ++i) whole_steps &= axes[i].stride % step == 0;
    if (!whole_steps) continue;
    const std::int64_t shift = ((offset % step) + step) % step;
    if (shift >= inner_span(axes_a, step) && shift + inner_span(axes_b, step) <= step) return true;
  }
  return false;
}

}  // namespace

bool is_addressable(const Tensor& tensor) {
  constexpr Wide limit = Wide{1} << 62;
  Wide elements = 1, reach = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    elements *= tensor.extent[i];
    if (elements > limit) return false;
    const Wide stride = tensor.stride[i];
    if (tensor.extent[i] > 1) reach += (stride < 0 ? -stride : stride) * (tensor.extent[i] - 1);
  }
  return is_empty(tensor) || reach * size_of(tensor.type) < limit;
}

bool may_overlap_itself(const Tensor& tensor) {
  if (is_empty(tensor)) return false;
  const Axes axes(tensor);
  for (int i = 0; i < axes.count; ++i) {
    if (axes[i].stride < axes.span(i + 1)) return true;
  }
  return false;
}

bool may_share_memory(const Tensor& a, const Tensor& b) {
  if (is_empty(a) || is_empty(b)) return false;
  const auto [a_begin, a_end] = bytes_of(a);
  const auto [b_begin, b_end] = bytes_of(b);
  return a_begin < b_end && b_begin < a_end && !are_disjoint_slots(a, b);
}

}  // namespace lookback
