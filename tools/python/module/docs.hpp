// What help() shows.
#pragma once

namespace lookback::python {

constexpr const char* kAttendSignature =
    "def attend(q, k, v, *, scale=None, temperature=1.0, causal=False, position=None, window=None, "
    "prefix=None, lengths=None, documents=None, blocks=None, mask=None, bias=None, softcap=None, "
    "alibi=None, sinks=None, hook=None, layout='bhnd', q_bounds=None, k_bounds=None, "
    "return_lse=False, out=None, threads=None, progress=None)";

constexpr const char* kAttendDoc = R"doc(Exact attention: softmax(scale * q k^T) v, streamed.

q is (B, H, n_q, d), k (B, H_kv, n_k, d), v (B, H_kv, n_k, d_v); the batch, then the heads may be
left out. Any array that speaks DLPack or the buffer protocol will do, of float32, float64, float16
or bfloat16, with any strides: nothing is copied. H is a multiple of H_kv. The result is a tensor of
PyTorch if q is one, else an array of NumPy, with q's rank and type.

Scores
  scale        multiplies q; default 1/sqrt(d)
  temperature  T in softmax(s / T)
  softcap      s = cap * tanh(s / cap)
  alibi        slopes [H] or [B, H] in s -= slope * |p_i - j|
  bias         numbers to add, broadcast to (B, H, n_q, n_k); -inf hides a key
  hook         a C function that may change scores, see lookback/score_hook.h: an address, or a
               pointer of ctypes, cffi or Numba; or (function, what it is called with)
  sinks        logits [H] or [B, H] that take weight and have no value

Which keys a row sees
  causal       False, True, or a position, which sets `position` as well
  position     where row i stands, p_i = i + offset: "top-left" (offset 0), "bottom-right"
               (offset n_k - n_q), an offset, or one per sequence. Needed if n_q != n_k and
               something depends on it
  window       (left, right): keys p_i - left <= j <= p_i + right; None leaves a side open
  prefix       keys j < prefix are seen whatever causal and window say
  lengths      keys of each sequence; the rest is padding
  documents    ids, [n] or [B, n], for queries and keys alike, or (query ids, key ids): a row sees
               its own document
  blocks       (mask, (rows, columns)): boolean, True where a block of that many rows and keys is
               visible
  mask         boolean, True where visible, broadcast to (B, H, n_q, n_k)

Arrays
  layout       "bhnd", or "bnhd" for (B, n, H, d)
  q_bounds     packed sequences: q is (tokens, H, d), sequence s holds tokens bounds[s] to
               bounds[s + 1]. They serve the keys too, unless k_bounds is given
  return_lse   give (out, lse): lse is the natural log of the sum of exp(score), (B, H, n_q) in
               either layout, (H, tokens) if packed; float64 for float64, else float32
  out          an array to write to, of any of the types

The call
  threads      at most this many
  progress     called now and then with the fraction done; False ends the call with
               lookback.Cancelled

A row that sees no key gives 0 and lse -inf. A row's result has the same bits whatever else is in
the call and however many threads compute it. Other Python threads run meanwhile, and Ctrl-C works.

Raises TypeError for a wrong type and ValueError for a wrong value; the text names both.)doc";

constexpr const char* kAlignSignature =
    "def align(q, k, *, rows=None, stage='weights', top=None, summary=False, received=False, "
    "last=None, pooled=None, region=None, distances=None, heads='each', scale=None, "
    "temperature=1.0, causal=False, position=None, window=None, prefix=None, lengths=None, "
    "documents=None, blocks=None, mask=None, bias=None, softcap=None, alibi=None, sinks=None, "
    "hook=None, layout='bhnd', q_bounds=None, k_bounds=None, threads=None, progress=None)";

constexpr const char* kAlignDoc =
    R"doc(Views of the weights that attend() gives, without the matrix.

Any of these, each exact, in memory that does not grow with n_q x n_k; axes are (B, H, ...), less
the ones that q has left out:
  rows       row numbers: `rows` (B, H, rows, n_k), at `stage` "scaled", "capped" (after softcap),
             "final" (after all terms and masks) or "weights"
  top        k from 1 to 64: `top_index`, `top_weight` (B, H, n_q, k), heaviest first; missing
             ones have index -1
  summary    `entropy` in nats, `largest` weight, mean `position` and mean `distance` of the keys,
             and `lse`, (B, H, n_q)
  received   `received_sum`, `received_max` (B, H, n_k): what each key gets from all rows, or
             from the `last` rows
  pooled     (rows, columns) or (rows, columns, "max"): `pooled` (B, H, rows, columns), means or
             maxima of the map's cells, or of its `region` ((first row, end row), (first key,
             end key))
  distances  how many, or (how many, "signed"): `mass` (B, H, distances), weight by |p_i - j|,
             the last taking all beyond; or by p_i - j around the middle
  heads      "each", or "mean" or "max" over the heads, which leaves one

The other options are those of attend(). The result has an attribute for each, and plot(),
html(path) and a display in notebooks.)doc";

constexpr const char* kMergeSignature = "def merge(outs, lses, *, layout='bhnd')";

constexpr const char* kMergeDoc =
    R"doc(Joins results of attend() for the same queries over disjoint sets of keys.

outs and lses are sequences of what attend(..., return_lse=True) gave; returns (out, lse) over all
the keys together. layout is that of the outs, "bhnd" if they are packed.)doc";

constexpr const char* kInfoDoc =
    "Version, instruction set in use, hardware threads, and the block sizes of the engine.";

constexpr const char* kSetTargetDoc =
    "Makes calls that start afterwards use this instruction set; see targets().";

}  // namespace lookback::python
