#include "conformance/onnx_attention.hpp"

#include <cmath>
#include <cstring>

namespace lookback::test {
namespace {

constexpr Real kHidden = -std::numeric_limits<Real>::infinity();

/// Right-aligned to [B, H, n_q, n_k], as broadcasting reads it.
Tensor aligned_right(const OnnxArray& array, bool rank_3_by_batch) {
  Extents extent{1, 1, 1, 1};
  const std::size_t rank = array.shape.size();
  for (std::size_t a = 0; a < rank; ++a) extent[4 - rank + a] = array.shape[a];
  if (rank == 3 && rank_3_by_batch) std::swap(extent[0], extent[1]);
  return {array.bytes.data(), array.type, extent, strides_of(Layout::heads_first, extent)};
}

/// The softcap on scores that are already masked, for the reading that gets the order wrong.
void softcap_hook(const lookback_score_tile* tile, void* user) {
  const auto cap = static_cast<float>(*static_cast<const double*>(user));
  auto* scores = static_cast<float*>(tile->scores);
  for (std::int64_t r = 0; r < tile->rows; ++r)
    for (std::int64_t c = 0; c < tile->keys; ++c) {
      float& s = scores[r * tile->row_stride + c * tile->key_stride];
      s = cap * std::tanh(s / cap);
    }
}

}  // namespace

OnnxAttention::OnnxAttention(const OnnxCase& c, Reading reading, std::int64_t lead)
    : c_(c), reading_(reading), lead_(lead) {
  take_arrays();
  take_scale_and_softcap();
  take_mask();
  take_positions();
  lse_ = StoredArray(Type::float32, {B_, H_, n_q_, 1});
}

/// [B, n, heads * d] is split into heads along its last axis, heads outermost.
Tensor OnnxAttention::as_4d(const OnnxArray& array, std::int64_t heads) const {
  const auto& s = array.shape;
  if (s.size() == 4) {
    const Extents extent{s[0], s[1], s[2], s[3]};
    return {array.bytes.data(), array.type, extent, strides_of(Layout::heads_first, extent)};
  }
  const Extents extent{s[0], heads, s[1], s[2] / heads};
  const Layout layout =
      reads(Reading::heads_by_reshape) ? Layout::heads_first : Layout::positions_first;
  return {array.bytes.data(), array.type, extent, strides_of(layout, extent)};
}

/// past, then fresh, along the positions; the lead stays NaN.
StoredArray OnnxAttention::with_past(const OnnxArray* past, const OnnxArray& fresh,
                                     std::int64_t lead, bool tiled) const {
  const Tensor after = as_4d(fresh, H_kv_);
  const Tensor before = past ? as_4d(*past, H_kv_) : Tensor{};
  const std::int64_t n_past = past ? before.extent[2] : 0;
  const Extents extent{B_, tiled ? H_ : H_kv_, lead + n_past + after.extent[2], after.extent[3]};
  StoredArray joined(after.type, extent);
  joined.for_each_place([&](auto b, auto h, auto i, auto c) {
    const std::int64_t at = i - lead, head = tiled ? h % H_kv_ : h;
    if (at < 0) return;
    const std::byte* from =
        at < n_past ? place_of(before, b, head, at, c) : place_of(after, b, head, at - n_past, c);
    std::memcpy(joined.place(b, h, i, c), from, static_cast<std::size_t>(size_of(after.type)));
  });
  return joined;
}

void OnnxAttention::take_arrays() {
  const OnnxArray &q = *c_.input("Q"), &k = *c_.input("K"), &v = *c_.input("V");
  is_3d_ = q.shape.size() == 3;
  H_ = is_3d_ ? c_.q_num_heads : q.shape[1];
  H_kv_ = is_3d_ ? c_.kv_num_heads : k.shape[1];
  q_ = as_4d(q, H_);
  k_ = as_4d(k, H_kv_);
  v_ = as_4d(v, H_kv_);
  const OnnxArray* past_key = c_.input("past_key");
  B_ = q_.extent[0];
  n_q_ = q_.extent[2];
  n_past_ = past_key ? past_key->shape[2] : 0;
  n_k_ = n_past_ + k_.extent[2];
  d_v_ = v_.extent[3];
  const bool tiled = reads(Reading::heads_tiled);
  if (!past_key && lead_ == 0 && !tiled) return;  // read where they lie
  own_k_ = with_past(past_key, k, lead_, tiled);
  own_v_ = with_past(c_.input("past_value"), v, lead_, tiled);
  k_ = own_k_.view();
  v_ = own_v_.view();
}

void OnnxAttention::take_scale_and_softcap() {
  options_.scale = c_.scale;
  if (reads(Reading::scale_ignored)) options_.scale.reset();
  if (reads(Reading::scale_from_values) && !options_.scale)
    options_.scale = 1 / std::sqrt(static_cast<double>(d_v_));
  if (c_.softcap == 0 || reads(Reading::softcap_skipped)) return;
  if (reads(Reading::softcap_after_mask))
    options_.hook = ScoreHook{softcap_hook, const_cast<double*>(&c_.softcap)};
  else
    options_.softcap = c_.softcap;
}

void OnnxAttention::take_mask() {
  const OnnxArray* given = c_.input("attn_mask");
  if (given && !(c_.is_causal && reads(Reading::mask_ignored_when_causal))) {
    const Tensor mask = aligned_right(*given, reads(Reading::mask_rank_3_by_batch));
    if (mask.type == Type::boolean)
      take_boolean_mask(mask);
    else
      take_float_mask(mask);
  }
  if (lead_ > 0 && !options_.mask) hide_lead();
}

/// Read in place, unless keys are missing at the end or stand in front.
void OnnxAttention::take_boolean_mask(const Tensor& mask) {
  const bool changed = reads(Reading::mask_inverted) || reads(Reading::softcap_after_mask);
  if (mask.extent[3] == n_k_ && lead_ == 0 && !changed) {
    options_.mask = mask;
    return;
  }
  Extents extent = mask.extent;
  extent[3] = total();
  mask_ = boolean_array(extent, [&](auto b, auto h, auto i, auto c) {
    const std::int64_t j = c - lead_;
    if (j < 0) return false;
    if (j >= mask.extent[3]) return reads(Reading::short_mask_visible);
    return (value_of(mask, b, h, i, j) != 0) != reads(Reading::mask_inverted);
  });
  if (!reads(Reading::softcap_after_mask)) {
    options_.mask = mask_.view();
    return;
  }
  bias_ = StoredArray(Type::float32, extent);
  bias_.fill(
      [&](auto b, auto h, auto i, auto j) { return mask_.at(b, h, i, j) == 0 ? kHidden : 0; });
  options_.bias = bias_.view();
}

void OnnxAttention::take_float_mask(const Tensor& mask) {
  if (mask.extent[3] == n_k_ && lead_ == 0) {
    options_.bias = mask;
    return;
  }
  Extents extent = mask.extent;
  extent[3] = total();
  bias_ = StoredArray(mask.type, extent);  // NaN under the lead, which is hidden
  bias_.for_each_place([&](auto b, auto h, auto i, auto c) {
    const std::int64_t j = c - lead_;
    const Real fill = reads(Reading::short_mask_visible) ? 0 : kHidden;
    if (j >= 0) bias_.set(b, h, i, c, j < mask.extent[3] ? value_of(mask, b, h, i, j) : fill);
  });
  options_.bias = bias_.view();
}

void OnnxAttention::hide_lead() {
  mask_ = boolean_array({1, 1, 1, total()}, [&](auto, auto, auto, auto j) { return j >= lead_; });
  options_.mask = mask_.view();
}

std::int64_t OnnxAttention::length(std::int64_t b) const {
  return c_.nonpad_kv_seqlen ? (*c_.nonpad_kv_seqlen)[static_cast<std::size_t>(b)] : n_k_;
}

/// Where query 0 stands among the keys of the case.
std::int64_t OnnxAttention::offset(std::int64_t b) const {
  if (n_past_ > 0) {
    if (reads(Reading::past_bottom_right)) return n_k_ - n_q_;
    return reads(Reading::past_ignored) ? 0 : n_past_;
  }
  if (c_.nonpad_kv_seqlen) {
    if (reads(Reading::nonpad_ignored)) return 0;
    if (reads(Reading::nonpad_bottom_right)) return n_k_ - n_q_;
    const std::int64_t end = length(b) - n_q_;
    return reads(Reading::nonpad_clamped) ? std::max<std::int64_t>(end, 0) : end;
  }
  return reads(Reading::no_cache_bottom_right) ? n_k_ - n_q_ : 0;
}

void OnnxAttention::take_positions() {
  options_.causal = c_.is_causal;
  if (!reads(Reading::window_ignored) && (c_.left_window_size >= 0 || c_.right_window_size >= 0)) {
    options_.window.emplace();
    const std::int64_t off_by_one = reads(Reading::window_off_by_one) ? 1 : 0;
    if (c_.left_window_size >= 0)
      options_.window->left = std::max<std::int64_t>(c_.left_window_size - off_by_one, 0);
    if (c_.right_window_size >= 0) options_.window->right = c_.right_window_size;
  }
  if (c_.nonpad_kv_seqlen && !reads(Reading::nonpad_not_hidden)) {
    for (std::int64_t b = 0; b < B_; ++b) lengths_.push_back(length(b) + lead_);
    options_.lengths = lengths_;
  }
  if (!options_.causal && !options_.window) return;
  for (std::int64_t b = 0; b < B_; ++b) offsets_.push_back(offset(b) + lead_);
  if (reads(Reading::right) && c_.nonpad_kv_seqlen)
    options_.position = Position::bottom_right();  // of each sequence's own length
  else if (reads(Reading::right) && n_past_ == 0 && lead_ == 0)
    options_.position = Position::top_left();
  else if (c_.nonpad_kv_seqlen)
    options_.position = Position::per_sequence(offsets_);
  else
    options_.position = Position::at(offset(0) + lead_);
}

std::string OnnxAttention::mapping() const {
  std::string text = is_3d_ ? "strides of 3D" : "4D";
  if (n_past_ > 0) text += ", past " + std::to_string(n_past_);
  if (H_ != H_kv_) text += ", group of " + std::to_string(H_ / H_kv_);
  if (c_.scale) text += ", scale";
  if (options_.softcap) text += ", softcap";
  if (options_.causal) text += ", causal";
  if (options_.window) text += ", window";
  if (options_.position) {
    const bool cache = c_.nonpad_kv_seqlen.has_value();
    text += cache ? " bottom-right" : n_past_ == 0 ? " top-left" : " at " + std::to_string(n_past_);
  }
  if (options_.lengths) text += ", lengths";
  if (options_.mask) text += ", mask";
  if (options_.bias) text += std::string(", bias in ") + name_of(options_.bias->type);
  if (const OnnxArray* mask = c_.input("attn_mask"); mask && mask->shape.back() != n_k_)
    text += " filled up";
  return text;
}

}  // namespace lookback::test
