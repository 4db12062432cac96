#include "row_source.hpp"

#include <algorithm>
#include <limits>

namespace lookback {
namespace {

/// Of an array with one number per head, or per sequence and head.
double per_head(std::span<const double> values, std::int64_t H, std::int64_t s, std::int64_t h) {
  const bool shared = static_cast<std::int64_t>(values.size()) == H;
  return values[static_cast<std::size_t>(shared ? h : s * H + h)];
}

/// Of an array with n ids, or n for every sequence of a batch: those of one sequence.
const std::int64_t* ids_of(std::span<const std::int64_t> ids, std::int64_t n,
                           const Sequence& sequence, std::int64_t first) {
  const bool shared = static_cast<std::int64_t>(ids.size()) == n;
  return ids.data() + (shared ? 0 : sequence.batch * n) + first;
}

/// Where the positions of one head are.
template <class Pointer>
struct Places {
  Pointer* first;
  std::int64_t bytes;

  Pointer* operator[](std::int64_t i) const {
    using Byte = std::conditional_t<std::is_const_v<Pointer>, const char, char>;
    return static_cast<Byte*>(first) + i * bytes;
  }
};

/// log2(e) / T, kept away from infinity and 0 so that equal scores stay equal at any temperature.
template <class T>
T rate_of(double temperature) {
  constexpr double log2_e = 0x1.71547652b82fep+0;
  return static_cast<T>(std::clamp(log2_e / temperature,
                                   static_cast<double>(std::numeric_limits<T>::min()),
                                   static_cast<double>(std::numeric_limits<T>::max())));
}

}  // namespace

template <class T>
RowSource<T>::RowSource(const Problem& problem)
    : p_(problem),
      o_(problem.options),
      rate_(rate_of<T>(o_.temperature)),
      has_visibility_(o_.documents || o_.blocks || o_.mask),
      has_terms_(o_.softcap || o_.alibi || o_.bias || o_.hook || o_.sinks) {
  if (o_.bias) bias_ = broadcast_strides(*o_.bias);
  if (o_.mask) mask_ = broadcast_strides(*o_.mask);
  if (o_.blocks) blocks_ = broadcast_strides(o_.blocks->visible);
}

template <class T>
kernels::RowBlock<T> RowSource<T>::rows(const BlockOfRows& block, std::int64_t heads_per_unit,
                                        RowMemory& memory) const {
  const Sequence& s = block.sequence;
  memory.clear();
  const std::int64_t end = block.first_row + block.n_rows;
  for (std::int64_t r = block.first_row; r < end;) {
    const std::int64_t h = heads_per_unit == 1 ? 0 : r / s.n_q;
    const std::int64_t count = std::min(end, (h + 1) * s.n_q) - r;
    add(s, block.first_head + h, r - h * s.n_q, count, memory);
    r += count;
  }
  return finish(s, block.first_head, memory);
}

template <class T>
kernels::RowBlock<T> RowSource<T>::rows(const Sequence& sequence, std::int64_t head,
                                        std::span<const std::int64_t> rows,
                                        RowMemory& memory) const {
  memory.clear();
  for (const std::int64_t i : rows) add(sequence, head, i, 1, memory);
  return finish(sequence, head, memory);
}

template <class T>
void RowSource<T>::add(const Sequence& s, std::int64_t h, std::int64_t first, std::int64_t count,
                       RowMemory& memory) const {
  const std::int64_t end = first + count;
  add_places(s, h, first, end, memory.rows);
  if (has_visibility_) {
    for (std::int64_t i = first; i < end; ++i)
      memory.visibility_rows.push_back(visibility(s, h, i));
  }
  if (has_terms_) {
    for (std::int64_t i = first; i < end; ++i) memory.term_rows.push_back(terms(s, h, i));
  }
}

// Short sequences feel every step here. So a place is one product away, and rows are filled where
// they stay: one that is copied as a whole waits for its parts to be written.
template <class T>
void RowSource<T>::add_places(const Sequence& s, std::int64_t h, std::int64_t first,
                              std::int64_t end, std::vector<kernels::Row>& rows) const {
  const auto& lse = p_.outputs.lse;
  const auto places = [&](auto* data, Type type, const Strides& stride) {
    return Places{element(data, type, stride, s.batch, h, s.first_q), stride[2] * size_of(type)};
  };
  const Places query = places(p_.q.data, p_.q.type, p_.q.stride);
  const Places out = places(p_.outputs.out.data, p_.outputs.out.type, p_.outputs.out.stride);
  const Places lses = lse ? places(lse->data, lse->type, lse->stride) : Places<void>{};
  T* const statistics = p_.statistics ? static_cast<T*>(p_.statistics) +
                                            2 * ((s.batch * p_.H + h) * p_.q.extent[2] + s.first_q)
                                      : nullptr;
  for (std::int64_t i = first; i < end; ++i) {
    kernels::Row& row = rows.emplace_back();
    row.query = query[i];
    row.out = out[i];
    if (lse) row.lse = lses[i];
    if (statistics) row.statistics = statistics + 2 * i;
    const KeyRange keys = p_.key_range(s, i);
    row.first_key = keys.first;
    row.gap_first = keys.gap_first;
    row.gap_end = keys.gap_end;
    row.end_key = keys.end;
  }
}

/// What the rows share. head: any that reads their key-value head.
template <class T>
kernels::RowBlock<T> RowSource<T>::finish(const Sequence& s, std::int64_t head,
                                          RowMemory& memory) const {
  if (has_visibility_) {
    memory.visibility = shared_visibility(s);
    memory.visibility.rows = memory.visibility_rows.data();
  }
  if (has_terms_) {
    memory.terms = shared_terms(s);
    memory.terms.rows = memory.term_rows.data();
  }
  const std::int64_t kv_head = head / p_.heads_per_kv_head();
  return {memory.rows.data(),
          static_cast<std::int64_t>(memory.rows.size()),
          has_visibility_ ? &memory.visibility : nullptr,
          has_terms_ ? &memory.terms : nullptr,
          matrix(p_.k, s, kv_head, s.first_k),
          matrix(p_.v, s, kv_head, s.first_k),
          p_.d,
          p_.d_v,
          p_.q.type,
          p_.q.stride[3],
          p_.outputs.out.type,
          p_.outputs.out.stride[3],
          static_cast<T>(p_.scale),
          rate_,
          o_.temperature,
          nullptr};
}

template <class T>
kernels::Matrix RowSource<T>::matrix(const Tensor& t, const Sequence& s, std::int64_t head,
                                     std::int64_t position) const {
  return {element(t.data, t.type, t.stride, s.batch, head, position), t.type, t.stride[2],
          t.stride[3]};
}

template <class T>
kernels::Ahead RowSource<T>::ahead(const BlockOfRows& block, std::int64_t heads_per_unit) const {
  const Sequence& s = block.sequence;
  const std::int64_t after = heads_per_unit == 1 ? 0 : block.first_row / s.n_q;
  const std::int64_t head = block.first_head + after, row = block.first_row - after * s.n_q;
  const std::int64_t kv_head = head / p_.heads_per_kv_head();
  const std::int64_t first_key = p_.key_range(s, row).first;
  return {matrix(p_.k, s, kv_head, s.first_k + first_key),
          matrix(p_.v, s, kv_head, s.first_k + first_key),
          matrix(p_.q, s, head, s.first_q + row),
          matrix(p_.outputs.out, s, head, s.first_q + row),
          s.n_k - first_key,
          block.n_rows};
}

template <class T>
kernels::RowVisibility RowSource<T>::visibility(const Sequence& s, std::int64_t h,
                                                std::int64_t i) const {
  kernels::RowVisibility row{};
  if (o_.mask) {
    row.mask = static_cast<const std::uint8_t*>(
        element(o_.mask->data, Type::boolean, mask_, s.batch, h, i));
  }
  if (o_.blocks) {
    row.blocks = static_cast<const std::uint8_t*>(
        element(o_.blocks->visible.data, Type::boolean, blocks_, s.batch, h, i / o_.blocks->rows));
  }
  if (o_.documents) {
    row.document = ids_of(o_.documents->queries, p_.q.extent[2], s, s.first_q)[i];
  }
  return row;
}

template <class T>
kernels::RowTerms RowSource<T>::terms(const Sequence& s, std::int64_t h, std::int64_t i) const {
  kernels::RowTerms row{};
  row.position = i + s.offset;
  row.head = h;
  row.row = i;
  if (o_.alibi) row.slope = per_head(*o_.alibi, p_.H, s.index, h);
  if (o_.sinks) row.sink = per_head(*o_.sinks, p_.H, s.index, h);
  if (o_.bias) row.bias = element(o_.bias->data, o_.bias->type, bias_, s.batch, h, i);
  return row;
}

template <class T>
kernels::Visibility RowSource<T>::shared_visibility(const Sequence& s) const {
  kernels::Visibility v{};
  if (o_.mask) {
    v.has_mask = true;
    v.mask_key_stride = mask_[3];
  }
  if (o_.blocks) {
    v.has_blocks = true;
    v.block_stride = blocks_[3];
    v.keys_per_block = o_.blocks->keys;
  }
  if (o_.documents) {
    v.key_documents =
        ids_of(o_.documents->keys.value_or(o_.documents->queries), p_.k.extent[2], s, s.first_k);
  }
  return v;
}

template <class T>
kernels::Terms RowSource<T>::shared_terms(const Sequence& s) const {
  kernels::Terms t{};
  t.has_softcap = o_.softcap.has_value();
  t.softcap = o_.softcap.value_or(0);
  t.has_alibi = o_.alibi.has_value();
  t.has_bias = o_.bias.has_value();
  t.bias_type = o_.bias ? o_.bias->type : Type::float32;
  t.bias_key_stride = bias_[3];
  t.hook = o_.hook ? o_.hook->function : nullptr;
  t.hook_user = o_.hook ? o_.hook->user : nullptr;
  t.sequence = s.index;
  t.has_sinks = o_.sinks.has_value();
  return t;
}

template class RowSource<float>;
template class RowSource<double>;

}  // namespace lookback
