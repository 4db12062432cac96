// The ways to say which keys a row sees. All of them must give the same bits.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/every_path.hpp"

namespace lookback::test {

/// Whether row i of head h in batch b sees key j.
using Sees = std::function<bool(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>;

template <class T>
struct Spelling {
  std::string name;
  OwningProblem<T> owner;
  const Problem<T>& problem() const { return owner.problem; }
};

namespace detail {

template <class T>
Extents score_extents(const Problem<T>& p) {
  return {p.q.extent(0), p.q.extent(1), p.q.extent(2), p.k.extent(2)};
}

template <class T>
Spelling<T> empty_spelling(std::string name, const Problem<T>& p) {
  return {std::move(name), {p, {}, {}, {}, {}}};
}

/// A bias of -inf where hidden and 0 elsewhere, which changes no score.
template <class T>
Spelling<T> as_bias(const Problem<T>& p, const Sees& sees, Type type) {
  auto s = empty_spelling(std::string("bias of -inf in ") + name_of(type), p);
  s.owner.bias = StoredArray(type, score_extents(p));
  s.owner.bias.fill([&](auto b, auto h, auto i, auto j) {
    return sees(b, h, i, j) ? 0 : -std::numeric_limits<Real>::infinity();
  });
  s.owner.problem.options.bias = s.owner.bias.view();
  return s;
}

template <class T>
Spelling<T> as_mask(const Problem<T>& p, const Sees& sees, Layout layout) {
  auto s = empty_spelling("mask in layout " + std::to_string(static_cast<int>(layout)), p);
  s.owner.mask = boolean_array(score_extents(p), sees, layout);
  s.owner.problem.options.mask = s.owner.mask.view();
  return s;
}

template <class T>
Spelling<T> as_blocks(const Problem<T>& p, const Sees& sees) {
  auto s = empty_spelling("blocks of one row and one key", p);
  s.owner.mask = boolean_array(score_extents(p), sees);
  s.owner.problem.options.blocks = Blocks{s.owner.mask.view(), 1, 1};
  return s;
}

/// Even keys hidden by the mask, odd ones by a NaN-free bias: neither alone says it.
template <class T>
Spelling<T> as_mask_and_bias(const Problem<T>& p, const Sees& sees) {
  auto s = as_bias(
      p, [&](auto b, auto h, auto i, auto j) { return j % 2 == 0 || sees(b, h, i, j); },
      Type::float32);
  s.name = "mask for even keys, bias for odd ones";
  s.owner.mask = boolean_array(score_extents(p), [&](auto b, auto h, auto i, auto j) {
    return j % 2 == 1 || sees(b, h, i, j);
  });
  s.owner.problem.options.mask = s.owner.mask.view();
  return s;
}

}  // namespace detail

/// p, which must have neither mask, bias nor blocks, with its keys hidden in every general way.
template <class T>
std::vector<Spelling<T>> spellings(const Problem<T>& p, const Sees& sees) {
  std::vector<Spelling<T>> all;
  for (const Layout layout : {Layout::heads_first, Layout::features_first, Layout::backwards})
    all.push_back(detail::as_mask(p, sees, layout));
  for (const Type type : {Type::float32, Type::float16, Type::bfloat16})
    all.push_back(detail::as_bias(p, sees, type));
  if (sizeof(T) == sizeof(double)) all.push_back(detail::as_bias(p, sees, Type::float64));
  all.push_back(detail::as_blocks(p, sees));
  all.push_back(detail::as_mask_and_bias(p, sees));
  return all;
}

/// NaN in every key and value that no row sees: nobody may notice.
template <class T>
void poison_unseen(Problem<T>& p, const Sees& sees) {
  const std::int64_t group = p.q.extent(1) / p.k.extent(1);
  for (std::int64_t b = 0; b < p.k.extent(0); ++b)
    for (std::int64_t kv = 0; kv < p.k.extent(1); ++kv)
      for (std::int64_t j = 0; j < p.k.extent(2); ++j) {
        bool seen = false;
        for (std::int64_t h = kv * group; h < (kv + 1) * group; ++h)
          for (std::int64_t i = 0; i < p.q.extent(2); ++i) seen = seen || sees(b, h, i, j);
        if (seen) continue;
        const T nan = std::numeric_limits<T>::quiet_NaN();
        for (std::int64_t c = 0; c < p.k.extent(3); ++c) p.k.at(b, kv, j, c) = nan;
        for (std::int64_t c = 0; c < p.v.extent(3); ++c) p.v.at(b, kv, j, c) = nan;
      }
}

}  // namespace lookback::test
