// The ONNX Attention operator (opset 23 to 25) in terms of the public interface:
//
// - Q, K, V of 3 axes are read where they lie, by strides; a past is put in front of K and V.
// - A boolean attn_mask is a mask, a float one a bias; a last axis that is short is filled up with
//   hidden keys. nonpad_kv_seqlen are lengths.
// - causal and windows count from the past's length, or the padded cache's end, or 0.
// - qk_matmul_output: weights (mode 3) are a context whose values are the identity. The interface
//   does not give scores (modes 0 to 2); a score hook reads them on their way.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "conformance/onnx_case.hpp"
#include "conformance/onnx_readings.hpp"
#include "lookback/lookback.hpp"

namespace lookback::test {

class OnnxAttention {
 public:
  /// With `lead` hidden keys of NaN in front of each sequence, so that a few keys can lie across
  /// the boundary of a chunk. The case must outlive it.
  explicit OnnxAttention(const OnnxCase& c, Reading reading = Reading::right,
                         std::int64_t lead = 0);
  OnnxAttention(const OnnxAttention&) = delete;  // the options look into it
  OnnxAttention& operator=(const OnnxAttention&) = delete;

  /// By the names of the operator's outputs, those that the case has.
  std::map<std::string, OnnxArray> run(int threads);

  /// What of the operator became what of the interface.
  std::string mapping() const;

  const Tensor& q() const { return q_; }
  const Tensor& k() const { return k_; }
  const Tensor& v() const { return v_; }
  const Options& options() const { return options_; }

 private:
  struct ScoreRecord;

  bool reads(Reading reading) const { return reading_ == reading; }
  std::int64_t total() const { return lead_ + n_k_; }
  Tensor as_4d(const OnnxArray& array, std::int64_t heads) const;
  StoredArray with_past(const OnnxArray* past, const OnnxArray& fresh, std::int64_t lead,
                        bool tiled) const;
  void take_arrays();
  void take_scale_and_softcap();
  void take_mask();
  void take_boolean_mask(const Tensor& mask);
  void take_float_mask(const Tensor& mask);
  void hide_lead();
  void take_positions();
  std::int64_t offset(std::int64_t b) const;
  std::int64_t length(std::int64_t b) const;

  OutputTensor as_output(OnnxArray& y) const;
  void attend_to(const Tensor& values, const OutputTensor& out, const Options& options);
  StoredArray weights(const Options& options);
  void answer_empty_rows(const OutputTensor& out, const Tensor& values);
  OnnxArray qk_output(const Options& options);
  StoredArray scores(const Options& options, std::int64_t mode);

  const OnnxCase& c_;
  Reading reading_;
  std::int64_t lead_;
  std::int64_t B_ = 0, H_ = 0, H_kv_ = 0, n_q_ = 0, n_past_ = 0, n_k_ = 0, d_v_ = 0;
  bool is_3d_ = false;
  Tensor q_, k_, v_;
  StoredArray own_k_, own_v_, mask_, bias_, lse_;
  std::vector<std::int64_t> offsets_, lengths_;
  Options options_;
};

}  // namespace lookback::test
