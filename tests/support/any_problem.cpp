#include "support/any_problem.hpp"

#include <sstream>

namespace lookback::test {

namespace {

template <class T>
void change_scores(const lookback_score_tile& tile, const TestHook& self) {
  T* scores = static_cast<T*>(tile.scores);
  for (std::int64_t r = 0; r < tile.rows; ++r)
    for (std::int64_t c = 0; c < tile.keys; ++c) {
      T& score = scores[r * tile.row_stride + c * tile.key_stride];
      score = self.changed(score, {tile.sequence, tile.head, tile.first_row + r,
                                   tile.first_position + r, tile.first_key + c});
    }
}

Strides compact_strides(const Extents& e) {
  return {e[1] * e[2] * e[3], e[2] * e[3], e[3], 1};
}

void write_array(std::ostream& to, const char* name, const AnyArray& a) {
  to << ", " << name << ' ' << name_of(a.type()) << " [";
  for (const std::int64_t e : a.extent()) to << ' ' << e;
  to << " ] stride [";
  for (const std::int64_t s : a.stride()) to << ' ' << s;
  to << " ]";
}

template <class T>
void write_list(std::ostream& to, const char* name, const std::optional<std::vector<T>>& list) {
  if (!list) return;
  to << ", " << name << " [";
  for (const T x : *list) to << ' ' << x;
  to << " ]";
}

}  // namespace

void TestHook::hook(const lookback_score_tile* tile, void* user) {
  const auto& self = *static_cast<const TestHook*>(user);
  tile->is_float64 != 0 ? change_scores<double>(*tile, self) : change_scores<float>(*tile, self);
}

AnyProblem::AnyProblem(Type type, std::int64_t B, std::int64_t H_, std::int64_t H_kv,
                       std::int64_t n_q, std::int64_t n_k, std::int64_t d, std::int64_t d_v_)
    : q(type, {B, H_, n_q, d}), k(type, {B, H_kv, n_k, d}), v(type, {B, H_kv, n_k, d_v_}) {
  out_type = compute_type();
  out_stride = compact_strides({B, H_, n_q, d_v_});
  lse_stride = compact_strides({B, H_, n_q, 1});
}

Position AnyProblem::position() const {
  switch (*anchor) {
    case Position::Anchor::top_left:
      return Position::top_left();
    case Position::Anchor::bottom_right:
      return Position::bottom_right();
    case Position::Anchor::per_sequence:
      return Position::per_sequence(offsets);
    default:
      return Position::at(one_offset);
  }
}

Options AnyProblem::options() const {
  Options o;
  o.scale = scale;
  o.temperature = temperature;
  o.softcap = softcap;
  if (alibi) o.alibi = *alibi;
  if (bias) o.bias = bias->view();
  if (hook) o.hook = ScoreHook{&TestHook::hook, const_cast<TestHook*>(&*hook)};
  if (sinks) o.sinks = *sinks;
  o.causal = causal;
  o.window = window;
  o.prefix = prefix;
  if (anchor) o.position = position();
  if (lengths) o.lengths = *lengths;
  if (query_documents) {
    o.documents = Documents{*query_documents, {}};
    if (key_documents) o.documents->keys = *key_documents;
  }
  if (blocks) o.blocks = Blocks{blocks->view(), block_rows, block_keys};
  if (mask) o.mask = mask->view();
  if (q_bounds) o.q_bounds = *q_bounds;
  if (k_bounds) o.k_bounds = *k_bounds;
  return o;
}

Results AnyProblem::empty_results() const {
  const std::int64_t B = q.extent(0), n_q = q.extent(2);
  return {AnyArray(out_type, {B, H(), n_q, d_v()}, out_stride),
          AnyArray(compute_type(), {B, H(), n_q, 1}, lse_stride)};
}

Results AnyProblem::run(std::optional<int> threads) const {
  Options with = options();
  with.threads = threads;
  return run_with(with);
}

Results AnyProblem::run_with(const Options& with) const {
  Results results = empty_results();
  Outputs outputs(results.out.output());
  if (with_lse) outputs.lse = results.lse.output();
  attend(q.view(), k.view(), v.view(), outputs, with);
  return results;
}

std::int64_t AnyProblem::sequences() const {
  return q_bounds ? static_cast<std::int64_t>(q_bounds->size()) - 1 : q.extent(0);
}

AnyProblem::Sequence AnyProblem::sequence(std::int64_t s) const {
  const auto at = static_cast<std::size_t>(s);
  Sequence of{s, s, 0, q.extent(2), 0, k.extent(2), k.extent(2), 0};
  if (q_bounds) {
    const auto& keys = k_bounds ? *k_bounds : *q_bounds;
    of = {s, 0, (*q_bounds)[at], (*q_bounds)[at + 1] - (*q_bounds)[at], keys[at], 0, 0, 0};
    of.n_k = of.length = keys[at + 1] - keys[at];
  }
  if (lengths) of.length = (*lengths)[at];
  if (anchor == Position::Anchor::bottom_right) of.offset = of.length - of.n_q;
  if (anchor == Position::Anchor::per_sequence) of.offset = offsets[at];
  if (anchor == Position::Anchor::offset) of.offset = one_offset;
  return of;
}

double AnyProblem::per_head(const std::vector<double>& values, std::int64_t s,
                            std::int64_t h) const {
  const bool shared = static_cast<std::int64_t>(values.size()) == H();
  return values[static_cast<std::size_t>(shared ? h : s * H() + h)];
}

double AnyProblem::sink(std::int64_t s, std::int64_t h) const {
  return sinks ? per_head(*sinks, s, h) : -std::numeric_limits<double>::infinity();
}

double AnyProblem::broadcast(const AnyArray& a, std::int64_t b, std::int64_t h, std::int64_t i,
                             std::int64_t j) {
  const auto& e = a.extent();
  return a.get(e[0] == 1 ? 0 : b, e[1] == 1 ? 0 : h, e[2] == 1 ? 0 : i, e[3] == 1 ? 0 : j);
}

TestHook::Place AnyProblem::hook_place(const Sequence& s, std::int64_t h, std::int64_t i,
                                       std::int64_t j) const {
  return {s.index, h, i, i + s.offset, j};
}

bool AnyProblem::same_document(const Sequence& s, std::int64_t i, std::int64_t j) const {
  const auto id = [&s](const std::vector<std::int64_t>& ids, std::int64_t n, std::int64_t token) {
    const bool shared = static_cast<std::int64_t>(ids.size()) == n;
    return ids[static_cast<std::size_t>((shared ? 0 : s.batch * n) + token)];
  };
  const auto& keys = key_documents ? *key_documents : *query_documents;
  return id(*query_documents, q.extent(2), s.first_q + i) == id(keys, k.extent(2), s.first_k + j);
}

bool AnyProblem::sees(const Sequence& s, std::int64_t h, std::int64_t i, std::int64_t j) const {
  const std::int64_t p = i + s.offset;
  bool visible = !causal || j <= p;
  if (window && window->left) visible = visible && p - *window->left <= j;
  if (window && window->right) visible = visible && j <= p + *window->right;
  if (prefix) visible = visible || j < *prefix;
  visible = visible && j < s.length;
  if (query_documents) visible = visible && same_document(s, i, j);
  if (blocks) {
    visible = visible && broadcast(*blocks, s.batch, h, i / block_rows, j / block_keys) != 0;
  }
  if (mask) visible = visible && broadcast(*mask, s.batch, h, i, j) != 0;
  return visible;
}

bool AnyProblem::counts(const Sequence& s, std::int64_t h, std::int64_t i, std::int64_t j) const {
  if (!sees(s, h, i, j)) return false;
  const bool overwritten = hook && hook->kind == TestHook::Kind::overwrite;
  if (!overwritten && bias && bias_at(s.batch, h, i, j) == -std::numeric_limits<double>::infinity())
    return false;
  return !hook || !std::isinf(hook->changed(0.0, hook_place(s, h, i, j)));
}

std::string AnyProblem::text() const {
  std::ostringstream to;
  to << "out " << name_of(out_type);
  write_array(to, "q", q);
  write_array(to, "k", k);
  write_array(to, "v", v);
  if (scale) to << ", scale " << *scale;
  to << ", temperature " << temperature;
  if (softcap) to << ", softcap " << *softcap;
  write_list(to, "alibi", alibi);
  write_list(to, "sinks", sinks);
  if (bias) write_array(to, "bias", *bias);
  if (hook) to << ", hook " << static_cast<int>(hook->kind);
  if (causal) to << ", causal";
  if (window) to << ", window " << window->left.value_or(-1) << ' ' << window->right.value_or(-1);
  if (prefix) to << ", prefix " << *prefix;
  if (anchor) to << ", position " << static_cast<int>(*anchor) << " at " << one_offset;
  if (anchor == Position::Anchor::per_sequence) write_list<std::int64_t>(to, "offsets", offsets);
  write_list(to, "lengths", lengths);
  if (query_documents) to << ", documents " << query_documents->size();
  if (key_documents) to << " and " << key_documents->size();
  if (blocks) write_array(to, "blocks", *blocks), to << " of " << block_rows << " x " << block_keys;
  if (mask) write_array(to, "mask", *mask);
  write_list(to, "q_bounds", q_bounds);
  write_list(to, "k_bounds", k_bounds);
  return to.str();
}

std::string bit_difference(const Results& actual, const Results& expected) {
  const std::string out = bit_difference(actual.out, expected.out);
  const std::string lse = bit_difference(actual.lse, expected.lse);
  return (out.empty() ? "" : "out: " + out) + (lse.empty() ? "" : " lse: " + lse);
}

}  // namespace lookback::test
