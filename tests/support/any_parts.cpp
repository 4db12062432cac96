#include "support/any_parts.hpp"

namespace lookback::test {

namespace {

using Ids = std::vector<std::int64_t>;

/// [first, first + count) along one axis, unless that axis is broadcast.
AnyArray slice(const AnyArray& a, std::size_t axis, std::int64_t first, std::int64_t count,
               bool is_broadcast = false) {
  Extents from{}, extent = a.extent();
  if (!is_broadcast) {
    from[axis] = first;
    extent[axis] = count;
  }
  return a.part(from, extent);
}

void slice(std::optional<AnyArray>& a, std::size_t axis, std::int64_t first, std::int64_t count) {
  if (a) a = slice(*a, axis, first, count, a->extent(axis) == 1);
}

/// Tokens [first, first + count) of the ids of every sequence, or of those that serve all.
Ids slice_ids(const Ids& ids, std::int64_t n, std::int64_t first, std::int64_t count) {
  Ids part;
  for (std::int64_t start = 0; n > 0 && start < std::int64_t(ids.size()); start += n)
    for (std::int64_t i = first; i < first + count; ++i)
      part.push_back(ids[static_cast<std::size_t>(start + i)]);
  return part;
}

Ids key_ids(const AnyProblem& p) {
  return p.key_documents ? *p.key_documents : *p.query_documents;
}

void make_compact(AnyProblem& p) {
  const auto compact = [](const Extents& e) {
    return Strides{e[1] * e[2] * e[3], e[2] * e[3], e[3], 1};
  };
  p.out_stride = compact({p.q.extent(0), p.H(), p.q.extent(2), p.d_v()});
  p.lse_stride = compact({p.q.extent(0), p.H(), p.q.extent(2), 1});
}

/// The position of every sequence moved by this much.
void move_position(const AnyProblem& p, std::int64_t by, AnyProblem& part) {
  part.anchor = Position::Anchor::per_sequence;
  part.offsets.clear();
  for (std::int64_t s = 0; s < p.sequences(); ++s)
    part.offsets.push_back(p.sequence(s).offset + by);
}

void keep_one(std::optional<std::vector<double>>& values, std::int64_t s, std::int64_t H) {
  if (!values || std::int64_t(values->size()) == H) return;
  const auto from = values->begin() + s * H;
  values = std::vector<double>(from, from + H);
}

std::int64_t blocks_in(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

}  // namespace

AnyProblem rows_of(const AnyProblem& p, std::int64_t first, std::int64_t count) {
  AnyProblem part = p;
  part.q = slice(p.q, 2, first, count);
  move_position(p, first, part);
  slice(part.bias, 2, first, count);
  slice(part.mask, 2, first, count);
  slice(part.blocks, 2, first / p.block_rows, blocks_in(count, p.block_rows));
  if (p.query_documents) {
    part.key_documents = key_ids(p);
    part.query_documents = slice_ids(*p.query_documents, p.q.extent(2), first, count);
  }
  if (part.hook) part.hook->first_row += first;
  make_compact(part);
  return part;
}

AnyProblem keys_of(const AnyProblem& p, std::int64_t first, std::int64_t count) {
  AnyProblem part = p;
  part.k = slice(p.k, 2, first, count);
  part.v = slice(p.v, 2, first, count);
  move_position(p, -first, part);
  part.lengths.emplace();
  for (std::int64_t s = 0; s < p.sequences(); ++s)
    part.lengths->push_back(std::clamp<std::int64_t>(p.sequence(s).length - first, 0, count));
  if (p.prefix) part.prefix = std::max<std::int64_t>(*p.prefix - first, 0);
  slice(part.bias, 3, first, count);
  slice(part.mask, 3, first, count);
  slice(part.blocks, 3, first / p.block_keys, blocks_in(count, p.block_keys));
  if (p.query_documents) part.key_documents = slice_ids(key_ids(p), p.k.extent(2), first, count);
  if (part.hook) part.hook->first_key += first;
  part.sinks.reset();
  make_compact(part);
  return part;
}

AnyProblem sequence_of(const AnyProblem& p, std::int64_t index) {
  const AnyProblem::Sequence s = p.sequence(index);
  AnyProblem part = p;
  const auto tokens = [&s](const AnyArray& a, std::int64_t first, std::int64_t count) {
    return slice(slice(a, 0, s.batch, 1), 2, first, count);
  };
  part.q = tokens(p.q, s.first_q, s.n_q);
  part.k = tokens(p.k, s.first_k, s.n_k);
  part.v = tokens(p.v, s.first_k, s.n_k);
  part.q_bounds.reset();
  part.k_bounds.reset();
  part.anchor = Position::Anchor::per_sequence;
  part.offsets = {s.offset};
  part.lengths = std::vector{s.length};
  keep_one(part.alibi, index, p.H());
  keep_one(part.sinks, index, p.H());
  slice(part.bias, 0, s.batch, 1);
  slice(part.mask, 0, s.batch, 1);
  slice(part.blocks, 0, s.batch, 1);
  if (p.query_documents) {
    const auto own = [&s](const Ids& all, std::int64_t n, std::int64_t first, std::int64_t count) {
      const std::int64_t start = (std::int64_t(all.size()) == n ? 0 : s.batch * n) + first;
      return Ids(all.begin() + start, all.begin() + start + count);
    };
    part.key_documents = own(key_ids(p), p.k.extent(2), s.first_k, s.n_k);
    part.query_documents = own(*p.query_documents, p.q.extent(2), s.first_q, s.n_q);
  }
  if (part.hook) part.hook->first_sequence += index;
  make_compact(part);
  return part;
}

AnyProblem head_of(const AnyProblem& p, std::int64_t h) {
  AnyProblem part = p;
  part.q = slice(p.q, 1, h, 1);
  part.k = slice(p.k, 1, p.kv_head(h), 1);
  part.v = slice(p.v, 1, p.kv_head(h), 1);
  for (auto* values : {&part.alibi, &part.sinks}) {
    if (!*values) continue;
    std::vector<double> own;
    for (auto at = static_cast<std::size_t>(h); at < (*values)->size(); at += std::size_t(p.H()))
      own.push_back((**values)[at]);
    *values = own;
  }
  slice(part.bias, 1, h, 1);
  slice(part.mask, 1, h, 1);
  slice(part.blocks, 1, h, 1);
  if (part.hook) part.hook->first_head += h;
  make_compact(part);
  return part;
}

Results rows_of(const Results& r, std::int64_t first, std::int64_t count) {
  return {slice(r.out, 2, first, count), slice(r.lse, 2, first, count)};
}

Results sequence_of(const AnyProblem& p, const Results& r, std::int64_t index) {
  const AnyProblem::Sequence s = p.sequence(index);
  const auto part = [&s](const AnyArray& a) {
    return slice(slice(a, 0, s.batch, 1), 2, s.first_q, s.n_q);
  };
  return {part(r.out), part(r.lse)};
}

}  // namespace lookback::test
