// Readings of the ONNX Attention operator: the right one, and those of traps.json, by the names
// they have there.
#pragma once

#include <array>
#include <cstdint>

namespace lookback::test {

enum class Reading : std::uint8_t {
  right,
  no_cache_bottom_right,
  past_bottom_right,
  past_ignored,
  nonpad_ignored,
  nonpad_bottom_right,
  nonpad_clamped,
  nonpad_not_hidden,
  softcap_after_mask,
  softcap_skipped,
  empty_rows_nan,
  empty_rows_mean,
  heads_tiled,
  short_mask_visible,
  mode_0_unscaled,
  mode_0_softcapped,
  mode_1_raw,
  modes_1_2_swapped,
  mode_2_without_bias,
  mask_rank_3_by_batch,
  scale_ignored,
  scale_from_values,
  output_not_interleaved,
  heads_by_reshape,
  window_ignored,
  window_off_by_one,
  mask_ignored_when_causal,
  mask_inverted
};

struct NamedReading {
  Reading reading;
  const char* name;
};

inline constexpr std::array<NamedReading, 27> kWrongReadings = {{
    {Reading::no_cache_bottom_right,
     "causal offset = n_k - n_q when no cache (FlashAttention-2.1 bottom-right)"},
    {Reading::past_bottom_right, "causal offset with past = total - n_q"},
    {Reading::past_ignored, "causal ignores past (offset 0)"},
    {Reading::nonpad_ignored, "causal ignores nonpad (offset 0)"},
    {Reading::nonpad_bottom_right, "nonpad: offset = n_k - n_q"},
    {Reading::nonpad_clamped, "nonpad offset clamped to >= 0"},
    {Reading::nonpad_not_hidden, "nonpad padding not applied"},
    {Reading::softcap_after_mask, "softcap after mask (leak)"},
    {Reading::softcap_skipped, "softcap skipped"},
    {Reading::empty_rows_nan, "fully masked rows -> NaN"},
    {Reading::empty_rows_mean, "fully masked rows -> uniform mean"},
    {Reading::heads_tiled, "GQA heads tiled, not repeated"},
    {Reading::short_mask_visible, "short mask filled with 0"},
    {Reading::mode_0_unscaled, "qk mode 0 unscaled"},
    {Reading::mode_0_softcapped, "qk mode 0 softcapped"},
    {Reading::mode_1_raw, "qk mode 1 = raw"},
    {Reading::modes_1_2_swapped, "qk mode 1 <-> 2 swapped"},
    {Reading::mode_2_without_bias, "qk mode 2 without bias"},
    {Reading::mask_rank_3_by_batch, "rank-3 mask read as (batch,q,kv)"},
    {Reading::scale_ignored, "scale attribute ignored"},
    {Reading::scale_from_values, "default scale from d_v"},
    {Reading::output_not_interleaved, "3D output not re-interleaved"},
    {Reading::heads_by_reshape, "3D heads split as (B,h,n,d) reshape"},
    {Reading::window_ignored, "window ignored"},
    {Reading::window_off_by_one, "left window counts current key (off by one)"},
    {Reading::mask_ignored_when_causal, "mask ignored when causal"},
    {Reading::mask_inverted, "bool mask inverted"},
}};

}  // namespace lookback::test
