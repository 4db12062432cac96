// How the adaptor runs, and what it makes of the engine's results.
#include <cmath>
#include <cstring>

#include "conformance/onnx_attention.hpp"

namespace lookback::test {

/// Where a hook puts the scores that it sees.
struct OnnxAttention::ScoreRecord {
  StoredArray scores;
  std::int64_t lead;

  static void hook(const lookback_score_tile* tile, void* user) {
    auto& record = *static_cast<ScoreRecord*>(user);
    const auto* scores = static_cast<const float*>(tile->scores);
    for (std::int64_t r = 0; r < tile->rows; ++r)
      for (std::int64_t c = 0; c < tile->keys; ++c) {
        const std::int64_t j = tile->first_key + c - record.lead;
        if (j < 0 || j >= record.scores.extent()[3]) continue;
        record.scores.set(tile->sequence, tile->head, tile->first_row + r, j,
                          scores[r * tile->row_stride + c * tile->key_stride]);
      }
  }
};

/// Y of 3 axes is [B, n_q, H * d_v], written through its strides.
OutputTensor OnnxAttention::as_output(OnnxArray& y) const {
  const Extents extent{B_, H_, n_q_, d_v_};
  const bool interleaved = is_3d_ && !reads(Reading::output_not_interleaved);
  const Layout layout = interleaved ? Layout::positions_first : Layout::heads_first;
  return {y.bytes.data(), y.type, extent, strides_of(layout, extent)};
}

void OnnxAttention::attend_to(const Tensor& values, const OutputTensor& out,
                              const Options& options) {
  attend(q_, k_, values, {out, lse_.output()}, options);
  answer_empty_rows(out, values);
}

/// Two readings disagree on what a row without keys is.
void OnnxAttention::answer_empty_rows(const OutputTensor& out, const Tensor& values) {
  const bool mean = reads(Reading::empty_rows_mean);
  if (!mean && !reads(Reading::empty_rows_nan)) return;
  Options uniform;
  uniform.scale = 0;
  StoredArray means(out.type, out.extent);
  attend(q_, k_, values, {means.output()}, uniform);
  means.for_each_place([&](auto b, auto h, auto i, auto c) {
    if (lse_.at(b, h, i, 0) != -std::numeric_limits<Real>::infinity()) return;
    auto* place = const_cast<std::byte*>(place_of(out, b, h, i, c));
    write_element(out.type, place, mean ? means.at(b, h, i, c) : Real(NAN));
  });
}

/// The context of the identity: [B, H, n_q, n_k] in Q's type.
StoredArray OnnxAttention::weights(const Options& options) {
  StoredArray identity(v_.type, {B_, k_.extent[1], total(), n_k_}, Strides{0, 0, n_k_, 1});
  identity.fill([&](auto, auto, auto j, auto c) { return j - lead_ == c ? 1 : 0; });
  StoredArray context(q_.type, {B_, H_, n_q_, n_k_});
  attend_to(identity.view(), context.output(), options);
  return context;
}

/// Scores of every key, whether hidden or not.
StoredArray OnnxAttention::scores(const Options& options, std::int64_t mode) {
  if (reads(Reading::modes_1_2_swapped) && mode > 0) mode = 3 - mode;
  ScoreRecord record{StoredArray(q_.type, {B_, H_, n_q_, n_k_}), lead_};
  Options plain;
  plain.threads = options.threads;
  plain.scale = options.scale;
  if (mode == 0 && reads(Reading::mode_0_unscaled)) plain.scale = 1;
  const bool softcapped = mode == 0   ? reads(Reading::mode_0_softcapped)
                          : mode == 1 ? !reads(Reading::mode_1_raw)
                                      : true;
  if (softcapped) plain.softcap = options.softcap;
  if (mode == 2 && !reads(Reading::mode_2_without_bias)) plain.bias = options.bias;
  StoredArray lead_hidden;
  if (lead_ > 0) {
    lead_hidden =
        boolean_array({1, 1, 1, total()}, [&](auto, auto, auto, auto j) { return j >= lead_; });
    plain.mask = lead_hidden.view();
  }
  plain.hook = ScoreHook{ScoreRecord::hook, &record};
  StoredArray unused(Type::float32, {B_, H_, n_q_, d_v_});
  attend(q_, k_, v_, {unused.output()}, plain);
  return record.scores;
}

OnnxArray OnnxAttention::qk_output(const Options& options) {
  const std::int64_t mode = c_.qk_matmul_output_mode;
  StoredArray answer = weights(options);
  if (mode != 3) {
    const StoredArray shares = answer;
    answer = scores(options, mode);
    // Weights of 0 are hidden keys here: no score of these cases is far enough below another.
    if (mode == 2 && !reads(Reading::mode_2_without_bias))
      shares.for_each_place([&](auto b, auto h, auto i, auto j) {
        if (shares.at(b, h, i, j) == 0)
          answer.set(b, h, i, j, -std::numeric_limits<Real>::infinity());
      });
  }
  OnnxArray qk(q_.type, {B_, H_, n_q_, n_k_});
  std::memcpy(qk.bytes.data(), answer.view().data, qk.bytes.size());
  return qk;
}

std::map<std::string, OnnxArray> OnnxAttention::run(int threads) {
  Options options = options_;
  options.threads = threads;
  std::map<std::string, OnnxArray> answers;
  OnnxArray y(q_.type, c_.outputs.at("Y").shape);
  attend_to(v_, as_output(y), options);
  answers["Y"] = y;
  const auto present = [&](const char* output, const char* past, const char* fresh) {
    if (!c_.gives(output)) return;
    const StoredArray joined = with_past(c_.input(past), *c_.input(fresh), 0, false);
    const Extents& e = joined.extent();
    OnnxArray array(joined.type(), {e[0], e[1], e[2], e[3]});
    std::memcpy(array.bytes.data(), joined.view().data, array.bytes.size());
    answers[output] = array;
  };
  present("present_key", "past_key", "K");
  present("present_value", "past_value", "V");
  if (c_.gives("qk_matmul_output")) answers["qk_matmul_output"] = qk_output(options);
  return answers;
}

}  // namespace lookback::test
