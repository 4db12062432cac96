// The same mathematics said in another way: what must not change a bit.
#pragma once

#include "support/any_parts.hpp"

namespace lookback::test {

/// Position and lengths written out, so that leaving out an option does not move anything.
inline AnyProblem with_explicit_position(const AnyProblem& p) {
  AnyProblem to = p;
  to.anchor = Position::Anchor::per_sequence;
  to.offsets.clear();
  for (std::int64_t s = 0; s < p.sequences(); ++s) to.offsets.push_back(p.sequence(s).offset);
  return to;
}

inline AnyProblem without_visibility(const AnyProblem& p) {
  AnyProblem to = with_explicit_position(p);
  to.causal = false;
  to.window.reset();
  to.prefix.reset();
  to.lengths.reset();
  to.query_documents.reset();
  to.key_documents.reset();
  to.blocks.reset();
  to.mask.reset();
  return to;
}

/// f(b, h, i, j, visible) for every query and key of a batch.
template <class F>
void for_each_pair(const AnyProblem& p, F f) {
  for (std::int64_t b = 0; b < p.sequences(); ++b) {
    const AnyProblem::Sequence s = p.sequence(b);
    for (std::int64_t h = 0; h < p.H(); ++h)
      for (std::int64_t i = 0; i < s.n_q; ++i)
        for (std::int64_t j = 0; j < s.n_k; ++j) f(b, h, i, j, p.sees(s, h, i, j));
  }
}

inline Extents all_pairs(const AnyProblem& p) {
  return {p.q.extent(0), p.H(), p.q.extent(2), p.k.extent(2)};
}

/// All that hides as one boolean mask.
inline AnyProblem as_mask(const AnyProblem& p) {
  AnyProblem to = without_visibility(p);
  to.mask = AnyArray(Type::boolean, all_pairs(p));
  for_each_pair(p, [&](auto b, auto h, auto i, auto j, bool visible) {
    to.mask->set_byte(b, h, i, j, visible ? 1 : 0);
  });
  return to;
}

/// As a bias of -inf, added to the bias that is there.
inline AnyProblem as_bias(const AnyProblem& p) {
  AnyProblem to = without_visibility(p);
  to.bias = AnyArray(p.compute_type(), all_pairs(p));
  for_each_pair(p, [&](auto b, auto h, auto i, auto j, bool visible) {
    const double bias = p.bias ? p.bias_at(b, h, i, j) : 0;
    to.bias->set(b, h, i, j, visible ? bias : -std::numeric_limits<double>::infinity());
  });
  return to;
}

/// As a list of blocks of one row and one key.
inline AnyProblem as_blocks(const AnyProblem& p) {
  AnyProblem to = as_mask(p);
  std::swap(to.blocks, to.mask);
  to.block_rows = to.block_keys = 1;
  return to;
}

/// Keys and values repeated for every query head.
inline AnyProblem with_repeated_heads(const AnyProblem& p) {
  AnyProblem to = p;
  const auto repeated = [&p](const AnyArray& from) {
    AnyArray wide(from.type(), {from.extent(0), p.H(), from.extent(2), from.extent(3)});
    wide.for_each_place([&](auto b, auto h, auto i, auto c) {
      wide.set(b, h, i, c, from.get(b, p.kv_head(h), i, c));
    });
    return wide;
  };
  to.k = repeated(p.k);
  to.v = repeated(p.v);
  return to;
}

/// Every array compact and stored in the compute type, bias included.
inline AnyProblem with_wide_storage(const AnyProblem& p) {
  AnyProblem to = p;
  for (AnyArray* array : {&to.q, &to.k, &to.v}) *array = array->as(p.compute_type());
  if (p.bias) to.bias = p.bias->as(p.compute_type());
  return to;
}

/// Packed sequences as a batch that is padded to the longest, with NaN in the padding.
inline AnyProblem as_padded(const AnyProblem& p) {
  std::int64_t n_q = 0, n_k = 0;
  const std::int64_t B = p.sequences();
  for (std::int64_t s = 0; s < B; ++s) {
    n_q = std::max(n_q, p.sequence(s).n_q);
    n_k = std::max(n_k, p.sequence(s).n_k);
  }
  AnyProblem to = with_explicit_position(p);
  const auto padded = [&](const AnyArray& from, std::int64_t n, bool queries) {
    AnyArray wide(from.type(), {B, from.extent(1), n, from.extent(3)});
    for (std::int64_t b = 0; b < B; ++b) {
      const AnyProblem::Sequence s = p.sequence(b);
      for (std::int64_t h = 0; h < from.extent(1); ++h)
        for (std::int64_t i = 0; i < (queries ? s.n_q : s.n_k); ++i)
          for (std::int64_t c = 0; c < from.extent(3); ++c)
            wide.set(b, h, i, c, from.get(0, h, (queries ? s.first_q : s.first_k) + i, c));
    }
    return wide;
  };
  to.q = padded(p.q, n_q, true);
  to.k = padded(p.k, n_k, false);
  to.v = padded(p.v, n_k, false);
  to.q_bounds.reset();
  to.k_bounds.reset();
  to.lengths.emplace();
  for (std::int64_t s = 0; s < B; ++s) to.lengths->push_back(p.sequence(s).length);
  if (p.query_documents) {
    std::vector<std::int64_t> query_ids(std::size_t(B * n_q), -77),
        key_ids(std::size_t(B * n_k), -78);
    const auto& keys = p.key_documents ? *p.key_documents : *p.query_documents;
    for (std::int64_t b = 0; b < B; ++b) {
      const AnyProblem::Sequence s = p.sequence(b);
      for (std::int64_t i = 0; i < s.n_q; ++i)
        query_ids[std::size_t(b * n_q + i)] = (*p.query_documents)[std::size_t(s.first_q + i)];
      for (std::int64_t j = 0; j < s.n_k; ++j)
        key_ids[std::size_t(b * n_k + j)] = keys[std::size_t(s.first_k + j)];
    }
    to.query_documents = query_ids;
    to.key_documents = key_ids;
  }
  const auto compact = [](const Extents& e) {
    return Strides{e[1] * e[2] * e[3], e[2] * e[3], e[3], 1};
  };
  to.out_stride = compact({B, p.H(), n_q, p.d_v()});
  to.lse_stride = compact({B, p.H(), n_q, 1});
  return to;
}

}  // namespace lookback::test
