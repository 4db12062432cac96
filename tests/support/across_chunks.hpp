// The same problem further along its keys, so that a small one crosses the boundary of a chunk and
// a split has two parts to fold. What is put in front is hidden, and NaN.
#pragma once

#include <vector>

#include "lookback/target.hpp"
#include "support/problem.hpp"
#include "support/stored_array.hpp"

namespace lookback::test {

/// A problem with the arrays that its options look at.
template <class T>
struct OwningProblem {
  Problem<T> problem;
  StoredArray mask, bias;
  std::vector<std::int64_t> offsets, lengths;
};

/// Whether the boolean options (mask, blocks, documents) let row i of head h see key j.
inline bool listed_as_visible(const Options& o, std::int64_t n_q, std::int64_t n_k, std::int64_t b,
                              std::int64_t h, std::int64_t i, std::int64_t j) {
  if (o.mask && broadcast_value(*o.mask, b, h, i, j) == 0) return false;
  if (o.blocks &&
      broadcast_value(o.blocks->visible, b, h, i / o.blocks->rows, j / o.blocks->keys) == 0)
    return false;
  if (!o.documents) return true;
  const auto id = [b](std::span<const std::int64_t> ids, std::int64_t n, std::int64_t at) {
    return ids[static_cast<std::size_t>(static_cast<std::int64_t>(ids.size()) == n ? at
                                                                                   : b * n + at)];
  };
  const auto keys = o.documents->keys.value_or(o.documents->queries);
  return id(o.documents->queries, n_q, i) == id(keys, n_k, j);
}

namespace detail {

template <class T>
Array<T> with_rows_in_front(const Array<T>& x, std::int64_t lead) {
  Extents extent = x.extent();
  extent[2] += lead;
  Array<T> longer(extent);
  x.for_each_place(
      [&](auto b, auto h, auto i, auto c) { longer.at(b, h, i + lead, c) = x.at(b, h, i, c); });
  return longer;
}

inline StoredArray with_columns_in_front(const Tensor& bias, std::int64_t lead) {
  if (bias.extent[3] == 1) return stored_as(bias.type, bias);
  Extents extent = bias.extent;
  extent[3] += lead;
  StoredArray wider(bias.type, extent);
  wider.for_each_place([&](auto b, auto h, auto i, auto j) {
    if (j >= lead) wider.set(b, h, i, j, value_of(bias, b, h, i, j - lead));
  });
  return wider;
}

inline Position moved(const Position& position, std::int64_t lead,
                      std::vector<std::int64_t>& offsets) {
  if (position.anchor() == Position::Anchor::bottom_right) return position;
  if (position.anchor() != Position::Anchor::per_sequence)
    return Position::at(position.offset(0, 0, 0) + lead);
  for (const std::int64_t offset : position.offsets()) offsets.push_back(offset + lead);
  return Position::per_sequence(offsets);
}

}  // namespace detail

/// With `lead` keys more in front of every sequence. Not for packed sequences.
template <class T>
OwningProblem<T> moved_along(const Problem<T>& p, std::int64_t lead) {
  using namespace detail;
  const std::int64_t n_q = p.q.extent(2), n_k = p.k.extent(2);
  OwningProblem<T> moved_problem{
      Problem<T>(p.q, with_rows_in_front(p.k, lead), with_rows_in_front(p.v, lead), p.options),
      {},
      {},
      {},
      {}};
  Options& o = moved_problem.problem.options;
  const bool listed = o.mask || o.blocks || o.documents;
  const Extents extent = listed ? Extents{p.q.extent(0), p.q.extent(1), n_q, n_k + lead}
                                : Extents{1, 1, 1, n_k + lead};
  moved_problem.mask = boolean_array(extent, [&](auto b, auto h, auto i, auto j) {
    return j >= lead && (!listed || listed_as_visible(p.options, n_q, n_k, b, h, i, j - lead));
  });
  o.mask = moved_problem.mask.view();
  o.blocks.reset();
  o.documents.reset();
  if (o.bias) {
    moved_problem.bias = with_columns_in_front(*o.bias, lead);
    o.bias = moved_problem.bias.view();
  }
  if (o.lengths) {
    for (const std::int64_t length : *o.lengths) moved_problem.lengths.push_back(length + lead);
    o.lengths = moved_problem.lengths;
  }
  if (o.prefix) *o.prefix += lead;
  if (o.causal || o.window || o.alibi)
    o.position = moved(o.position.value_or(Position::top_left()), lead, moved_problem.offsets);
  return moved_problem;
}

/// With half of its keys, and at most four, before the end of the first chunk.
template <class T>
OwningProblem<T> across_chunks(const Problem<T>& p) {
  const std::int64_t before = std::min<std::int64_t>((p.k.extent(2) + 1) / 2, 4);
  return moved_along(p, block_sizes().chunk - before);
}

}  // namespace lookback::test
