/* The C interface of lookback, exact attention on CPUs: plain structs and functions for C99 and for
 * everything that can call C.
 *
 *     lookback_tensor q = lookback_heads_first(q_data, LOOKBACK_FLOAT32, 1, 1, n, d);
 *     ... k and v likewise ...
 *     lookback_output out = lookback_output_heads_first(out_data, LOOKBACK_FLOAT32, 1, 1, n, d);
 *     lookback_status status = lookback_attend(&q, &k, &v, &out, NULL, NULL);
 *     if (status != LOOKBACK_OK) puts(lookback_last_error());
 *
 * Zero is absent: a pointer that is null, a flag that is 0, a struct of zeros is an option not
 * given, and no other value stands for one. Flags are 0 or 1. Arrays are the caller's and must
 * outlive the call. Any number of threads may call at once; every call is checked before anything
 * is written.
 *
 * Later versions add fields at the end of the structs that begin with struct_size, which holds the
 * size that the caller was compiled with; a lookback that is older than its caller refuses a field
 * that it does not know unless that field is absent. */
#ifndef LOOKBACK_H
#define LOOKBACK_H

#include <stddef.h>
#include <stdint.h>

#include "lookback/export.h"
#include "lookback/score_hook.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a call has come to. */
typedef int32_t lookback_status;
enum {
  LOOKBACK_OK = 0,
  LOOKBACK_INVALID_ARGUMENT = 1,   /* something passed in is wrong; nothing was written */
  LOOKBACK_UNSUPPORTED_TARGET = 2, /* the instruction set is not in this binary or this machine */
  LOOKBACK_CANCELLED = 3,          /* progress asked to stop; the outputs are not to be used */
  LOOKBACK_OUT_OF_MEMORY = 4,      /* no room for scratch; the outputs are not to be used */
  LOOKBACK_INTERNAL_ERROR = 5      /* anything else, such as a C++ exception from a callback */
};

/* The last failure of the calling thread in one sentence, which names the argument, the value and
 * what would do. "" before any. Stands until a call of the same thread fails; never freed. */
LOOKBACK_API const char* lookback_last_error(void);

/* How an element is stored. 16-bit types are bit patterns; booleans are one byte, 0 or not; int64
 * is for results that are places. */
enum {
  LOOKBACK_FLOAT32 = 0,
  LOOKBACK_FLOAT64 = 1,
  LOOKBACK_BFLOAT16 = 2,
  LOOKBACK_FLOAT16 = 3,
  LOOKBACK_BOOLEAN = 4,
  LOOKBACK_INT64 = 5
};

/* A view of an array to read from: [batch, head, position, feature], in this order whatever the
 * layout in memory. Strides are in elements; 0 repeats, negative runs backwards, and that of an
 * extent of 1 is ignored. data may be null when an extent is 0. */
typedef struct lookback_tensor {
  const void* data;
  int32_t type;
  int32_t reserved; /* 0 */
  int64_t extent[4];
  int64_t stride[4];
} lookback_tensor;

/* A view of an array to write to, whose elements are distinct places in memory. */
typedef struct lookback_output {
  void* data;
  int32_t type;
  int32_t reserved; /* 0 */
  int64_t extent[4];
  int64_t stride[4];
} lookback_output;

/* Contiguous arrays: [B, H, n, d], and [B, n, H, d] as projections leave it. B = H = 1 is a matrix;
 * positions first with B = 1 and n = tokens holds packed sequences; d = 1 is one number per row. */
LOOKBACK_API lookback_tensor lookback_heads_first(const void* data, int32_t type, int64_t B,
                                                  int64_t H, int64_t n, int64_t d);
LOOKBACK_API lookback_tensor lookback_positions_first(const void* data, int32_t type, int64_t B,
                                                      int64_t n, int64_t H, int64_t d);
LOOKBACK_API lookback_output lookback_output_heads_first(void* data, int32_t type, int64_t B,
                                                         int64_t H, int64_t n, int64_t d);
LOOKBACK_API lookback_output lookback_output_positions_first(void* data, int32_t type, int64_t B,
                                                             int64_t n, int64_t H, int64_t d);

/* Lists of numbers; absent if data is null. */
typedef struct lookback_integers {
  const int64_t* data;
  int64_t count;
} lookback_integers;

typedef struct lookback_numbers {
  const double* data;
  int64_t count;
} lookback_numbers;

/* Where query row i stands among the keys: p_i = i + offset. Causal, window and ALiBi use it. The
 * default is offset 0 when n_q = n_k; otherwise a call that uses one of them must name another. */
enum {
  LOOKBACK_POSITION_DEFAULT = 0,
  LOOKBACK_POSITION_TOP_LEFT = 1,     /* offset 0: the first query stands at the first key */
  LOOKBACK_POSITION_BOTTOM_RIGHT = 2, /* n_k - n_q of each sequence: the last at the last */
  LOOKBACK_POSITION_OFFSET = 3,       /* offset, which may be negative */
  LOOKBACK_POSITION_PER_SEQUENCE = 4  /* offsets, one for each sequence */
};
typedef struct lookback_position {
  int32_t anchor; /* LOOKBACK_POSITION_... */
  int64_t offset;
  lookback_integers offsets;
} lookback_position;

/* Row i sees key j only if p_i - left <= j <= p_i + right; an absent side is open. */
typedef struct lookback_window {
  int32_t has_left;
  int32_t has_right;
  int64_t left; /* in keys, at least 0; as right */
  int64_t right;
} lookback_window;

/* A row sees a key only if their ids are equal: [n] ids, [B, n], or one per token of packed
 * sequences. Queries without keys serve both where n_q = n_k. */
typedef struct lookback_documents {
  lookback_integers queries;
  lookback_integers keys;
} lookback_documents;

/* A row sees a key only if visible[row / rows][key / keys]: boolean, [B, H, row blocks, key
 * blocks], broadcast from the right where an extent is 1. Rows count from 0 whatever their
 * position. Absent if visible is null. */
typedef struct lookback_blocks {
  const lookback_tensor* visible;
  int64_t rows; /* of a block, at least 1; as keys */
  int64_t keys;
} lookback_blocks;

/* Called on the calling thread now and then with the fraction done, in [0, 1]. 0 ends the call soon
 * with LOOKBACK_CANCELLED, anything else lets it go on. */
typedef int32_t (*lookback_progress)(double fraction, void* user);

/* The defaults are the textbook's: softmax(q k^T / sqrt(d)) v, every key visible. */
typedef struct lookback_options {
  size_t struct_size;

  /* Multiplies q once, before scoring. Finite. Default 1/sqrt(d); must be given when d = 0. */
  int32_t has_scale;
  double scale;
  /* T in softmax((s - max) / T). Finite and positive. Default 1. */
  int32_t has_temperature;
  double temperature;

  /* Score terms, in the order in which they are applied. */
  int32_t has_softcap; /* s = softcap * tanh(s / softcap); finite and positive */
  double softcap;
  lookback_numbers alibi; /* slopes in s -= slope * |p_i - j|: [H] or [B, H]; finite */
  /* Added: [B, H, n_q, n_k], broadcast from the right where an extent is 1; float32, float16 or
   * bfloat16, float64 with float64 q. -inf hides a key. */
  const lookback_tensor* bias;
  /* Called with tiles of scores, which it may change, and with hook_user; from several threads at
   * once. score_hook.h says what it may do. */
  lookback_score_hook hook;
  void* hook_user;
  /* Logits that take weight and have no value, not divided by T: [H] or [B, H]. -inf is no sink;
   * NaN and +inf are errors. */
  lookback_numbers sinks;

  /* Visibility. A key must pass all that are given: (causal and window, or prefix), lengths,
   * documents, blocks and mask. */
  int32_t causal; /* flag: row i sees key j only if j <= p_i */
  lookback_window window;
  int32_t has_prefix;
  int64_t prefix; /* keys j < prefix are seen whatever causal and window say; at least 0 */
  lookback_position position;
  lookback_integers lengths; /* keys of each sequence, [B], 0 to n_k; the rest is padding */
  lookback_documents documents;
  lookback_blocks blocks;
  /* boolean [B, H, n_q, n_k], broadcast from the right where an extent is 1; true is visible. */
  const lookback_tensor* mask;

  /* Packed sequences: q, out are [1, H, tokens, ...], k and v likewise, and sequence s holds tokens
   * bounds[s] to bounds[s + 1]. Bounds start at 0, never fall, and end at the number of tokens.
   * q_bounds serve the keys too if k_bounds are absent. Key positions count from each sequence's
   * own first key. lengths, blocks, mask and bias have no meaning here and are errors. */
  lookback_integers q_bounds;
  lookback_integers k_bounds;

  int32_t has_threads;
  int32_t threads; /* at most this many, at least 1; default: what the caller's oneTBB arena has */
  lookback_progress progress; /* called with progress_user */
  void* progress_user;
} lookback_options;

/* Makes every option absent, in a struct of the size that the caller was compiled with:
 *     lookback_options options;
 *     lookback_options_init(&options, sizeof options);
 * lookback_options options = {.struct_size = sizeof options}; is the same. */
LOOKBACK_API void lookback_options_init(lookback_options* options, size_t struct_size);

/* For every query row i of q [B, H, n_q, d] against k [B, H_kv, n_k, d] and v [B, H_kv, n_k, d_v]:
 *
 *     s_j = (scale * q_i) . k_j      w_j = exp((s_j - m) / T) / l      out_i = sum_j w_j v_j
 *
 * over the visible keys j, with m = max_j s_j, l = sum_j exp((s_j - m) / T), and
 * lse_i = m / T + ln l. Options add terms to s_j, and a sink to m and l.
 *
 * - out is [B, H, n_q, d_v]; lse, which may be null, [B, H, n_q, 1], float64 with float64 q, else
 *   float32. options may be null. The outputs share no memory with each other or with the inputs,
 *   except as slots of one fused array (same strides, disjoint slots).
 * - float64 goes with float64 only, and is computed in. Other types may be mixed, and are
 *   computed in float32. H is a multiple of H_kv; query head h reads head h / (H / H_kv).
 * - A row that sees no key gives out = 0 and lse = -inf (with a sink: lse = sink).
 * - A row's result has the same bits whatever the number of threads, the rows and sequences that
 *   came with it, and the instruction set (x86-64 with FMA, AArch64).
 *
 * attend.hpp says it all. */
LOOKBACK_API lookback_status lookback_attend(const lookback_tensor* q, const lookback_tensor* k,
                                             const lookback_tensor* v, const lookback_output* out,
                                             const lookback_output* lse,
                                             const lookback_options* options);

/* What lookback_attend gave for the same queries over one set of keys. */
typedef struct lookback_part {
  lookback_tensor out; /* [B, H, n_q, d_v] */
  lookback_tensor lse; /* [B, H, n_q, 1] */
} lookback_part;

/* The result over all the keys together, from parts over disjoint sets of them:
 *
 *     m = max lse_p     l = sum_p exp(lse_p - m)
 *     out = sum_p exp(lse_p - m) out_p / l     lse = m + ln l
 *
 * (0, -inf) is the neutral element; two parts give the same bits in either order; a sink belongs to
 * one part only. lse may be null. */
LOOKBACK_API lookback_status lookback_merge(const lookback_part* parts, int64_t count,
                                            const lookback_output* out, const lookback_output* lse);

/* What a row is shown as: weights, or scores on their way: scale * q.k; after the softcap; after
 * ALiBi, bias, hook and masks (hidden is -inf), before the temperature. */
enum {
  LOOKBACK_STAGE_WEIGHTS = 0,
  LOOKBACK_STAGE_SCALED = 1,
  LOOKBACK_STAGE_CAPPED = 2,
  LOOKBACK_STAGE_FINAL = 3
};

/* One view for each head, or views of the mean or the maximum over the heads. */
enum { LOOKBACK_HEADS_EACH = 0, LOOKBACK_HEADS_MEAN = 1, LOOKBACK_HEADS_MAX = 2 };

enum { LOOKBACK_POOLING_MEAN = 0, LOOKBACK_POOLING_MAX = 1 };

/* Chosen rows in full, in any order, repeated or not, each from 0 to n_q - 1. Asked for by values.
 */
typedef struct lookback_rows_view {
  lookback_integers rows;
  int32_t stage;                 /* LOOKBACK_STAGE_...; only weights if heads are reduced */
  const lookback_output* values; /* [B, H, rows, n_k] */
} lookback_rows_view;

/* The heaviest keys of every row, heaviest first, ties to the lower index. Missing ones have index
 * -1 and weight 0. Asked for by both. */
typedef struct lookback_top_view {
  const lookback_output* index;  /* [B, H, n_q, k], int64; k from 1 to 64 */
  const lookback_output* weight; /* [B, H, n_q, k] */
} lookback_top_view;

/* One number per row, [B, H, n_q, 1] each; any of them. */
typedef struct lookback_summary_view {
  const lookback_output* entropy;  /* -sum_j w_j ln w_j, in nats */
  const lookback_output* largest;  /* max_j w_j */
  const lookback_output* position; /* sum_j w_j j / sum_j w_j; NaN for a row that sees nothing */
  const lookback_output* distance; /* sum_j w_j |p_i - j| / sum_j w_j; likewise */
} lookback_summary_view;

/* What each key receives over the rows, [B, H, n_k, 1] each; any of them. */
typedef struct lookback_received_view {
  const lookback_output* sum;
  const lookback_output* max;
  int32_t has_last;
  int64_t last; /* only from the last this many rows; at least 0 */
} lookback_received_view;

/* The map, or the part [first_row, end_row) x [first_key, end_key) of it, in R x C cells. Cell (r,
 * c) covers rows floor(r n / R) to floor((r + 1) n / R) of the part's n rows, and keys likewise;
 * hidden places count as 0. Not for packed sequences. Asked for by cells. */
typedef struct lookback_pooled_view {
  const lookback_output* cells; /* [B, H, R, C]; R and C at most the part's rows and keys */
  int32_t pooling;              /* LOOKBACK_POOLING_... */
  int32_t has_region;           /* flag: a part of the map, by the four numbers that follow */
  int64_t first_row;
  int64_t end_row;
  int64_t first_key;
  int64_t end_key;
} lookback_pooled_view;

/* Weight by distance, summed over rows; any of them. */
typedef struct lookback_distance_view {
  /* [B, H, D, 1]: weight at |p_i - j| = 0, 1, ..., the last one taking all beyond; or, if
   * is_signed, at p_i - j = -(D - 1) / 2, ..., (D - 1) / 2 for odd D, both ends likewise. */
  const lookback_output* mass;
  int32_t is_signed; /* flag */
  int32_t has_first;
  int64_t first;                /* at least 0; 1 if not given */
  const lookback_output* share; /* [B, H, 1, 1]: the share of all weight on keys j < first */
} lookback_distance_view;

/* What is asked for: any of these. Results are float64 with float64 q, else float32. With heads
 * mean or max every H above is 1, and the views are those of the reduced matrix.
 *
 * Packed sequences: rows are numbered by token, keys within their own sequence (received: by
 * token); chosen rows hold as many keys as k has tokens, 0 or -inf beyond the sequence's own. */
typedef struct lookback_views {
  size_t struct_size;
  lookback_rows_view rows;
  lookback_top_view top;
  lookback_summary_view summary;
  lookback_received_view received;
  lookback_pooled_view pooled;
  lookback_distance_view distances;
  int32_t heads;              /* LOOKBACK_HEADS_... */
  const lookback_output* lse; /* per head, [B, H, n_q, 1] also if heads are reduced */
} lookback_views;

/* As lookback_options_init. */
LOOKBACK_API void lookback_views_init(lookback_views* views, size_t struct_size);

/* Views of the weights that lookback_attend gives with the same q, k and options: exact, in memory
 * that does not grow with n_q x n_k. With v and out the context is computed on the way; both may be
 * null, options too. align.hpp says it all. */
LOOKBACK_API lookback_status lookback_align(const lookback_tensor* q, const lookback_tensor* k,
                                            const lookback_tensor* v, const lookback_output* out,
                                            const lookback_views* views,
                                            const lookback_options* options);

/* An instruction set. */
typedef struct lookback_target {
  const char* name;  /* "avx512", "avx2", "baseline" (x86-64), "neon" (AArch64); never freed */
  int32_t supported; /* this machine can run it */
  int32_t same_bits; /* has fused multiply-add, so its results are the same bits as the others' */
  int32_t float32_lanes; /* per vector */
  int32_t reserved;
} lookback_target;

/* How many this binary holds, and the one at index, best first; struct_size is sizeof *target. */
LOOKBACK_API int64_t lookback_target_count(void);
LOOKBACK_API lookback_status lookback_get_target(int64_t index, lookback_target* target,
                                                 size_t struct_size);

/* The name of the one that calls use: the best supported one, unless the environment variable
 * LOOKBACK_ISA or lookback_set_target names another. The name is never freed. */
LOOKBACK_API lookback_status lookback_active_target(const char** name);

/* Affects calls that start afterwards, in the whole process. */
LOOKBACK_API lookback_status lookback_set_target(const char* name);

/* Keys are taken in blocks and blocks in chunks of these sizes, the same on every machine. */
LOOKBACK_API void lookback_block_sizes(int64_t* key_block, int64_t* chunk);

/* Semantic version, "1.2.3". */
LOOKBACK_API const char* lookback_version(void);

#ifdef __cplusplus
}
#endif

#endif
