/* lookback_attend with every option, against the loops of problem.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "problem.h"
#include "tests.h"

enum { B = 2, H = 4, H_kv = 2, n_q = 19, n_k = 37, d = 9, d_v = 5 };

static problem standard(void) {
  return make_problem(B, H, H_kv, n_q, n_k, d, d_v);
}

static void attend_and_check(problem* p) {
  CHECK_OK(attend(p));
  check_context(p);
  free_problem(p);
}

static void test_defaults(void) {
  problem p = standard();
  CHECK_OK(lookback_attend(&p.tq, &p.tk, &p.tv, &p.tout, &p.tlse, NULL));
  check_context(&p);
  const float first = p.out[0];
  CHECK_OK(lookback_attend(&p.tq, &p.tk, &p.tv, &p.tout, NULL, &p.options));
  CHECK(p.out[0] == first);
  lookback_options named = {.struct_size = sizeof named};
  CHECK(memcmp(&named, &p.options, sizeof named) == 0);
  free_problem(&p);
}

static void test_scale_and_temperature(void) {
  problem p = standard();
  p.options.has_scale = 1;
  p.options.scale = -1.5;
  p.options.has_temperature = 1;
  p.options.temperature = 0.25;
  attend_and_check(&p);
}

static void shift_by_place(const lookback_score_tile* tile, void* user) {
  const double rate = *(const double*)user;
  for (int64_t r = 0; r < tile->rows; ++r) {
    for (int64_t c = 0; c < tile->keys; ++c) {
      const int64_t at = r * tile->row_stride + c * tile->key_stride;
      const double far = (double)(tile->first_position + r - tile->first_key - c);
      const double shift = rate * (far + (double)(3 * tile->head + tile->sequence)) +
                           0.01 * (double)(tile->first_row + r);
      if (tile->is_float64) {
        ((double*)tile->scores)[at] += shift;
      } else {
        ((float*)tile->scores)[at] += (float)shift;
      }
    }
  }
}

static void test_score_terms(void) {
  problem p = standard();
  double slopes[H], sinks[B * H], rate = 0.03;
  float bias[H * n_k];
  for (int h = 0; h < H; ++h) slopes[h] = 0.1 * (h + 1);
  for (int h = 0; h < B * H; ++h) sinks[h] = number(h);
  for (int j = 0; j < H * n_k; ++j) bias[j] = (float)number(j);
  bias[3] = -INFINITY;
  const lookback_tensor tbias = lookback_heads_first(bias, LOOKBACK_FLOAT32, 1, H, 1, n_k);
  p.options.has_softcap = 1;
  p.options.softcap = 0.75;
  p.options.alibi.data = slopes;
  p.options.alibi.count = H;
  p.options.position.anchor = LOOKBACK_POSITION_TOP_LEFT;
  p.options.bias = &tbias;
  p.options.hook = shift_by_place;
  p.options.hook_user = &rate;
  p.options.sinks.data = sinks;
  p.options.sinks.count = B * H;
  attend_and_check(&p);
}

static void test_positions(void) {
  static const int64_t offsets[B] = {-3, 21};
  for (int32_t anchor = LOOKBACK_POSITION_TOP_LEFT; anchor <= LOOKBACK_POSITION_PER_SEQUENCE;
       ++anchor) {
    problem p = standard();
    p.options.causal = 1;
    p.options.position.anchor = anchor;
    if (anchor == LOOKBACK_POSITION_OFFSET) p.options.position.offset = -4;
    if (anchor == LOOKBACK_POSITION_PER_SEQUENCE) {
      p.options.position.offsets.data = offsets;
      p.options.position.offsets.count = B;
    }
    attend_and_check(&p);
  }
  problem square = make_problem(1, 1, 1, 6, 6, d, d_v);
  square.options.causal = 1;
  attend_and_check(&square);
}

static void test_window_and_prefix(void) {
  for (int sides = 0; sides < 4; ++sides) {
    problem p = standard();
    p.options.position.anchor = LOOKBACK_POSITION_OFFSET;
    p.options.position.offset = 8;
    p.options.window.has_left = sides & 1;
    p.options.window.has_right = sides >> 1;
    p.options.window.left = 5;
    p.options.window.right = 2;
    p.options.has_prefix = sides == 3;
    p.options.prefix = 2;
    attend_and_check(&p);
  }
}

static void test_lengths_and_documents(void) {
  static const int64_t lengths[B] = {n_k, 11};
  int64_t query_ids[n_q], key_ids[B * n_k];
  for (int i = 0; i < n_q; ++i) query_ids[i] = i / 7;
  for (int j = 0; j < B * n_k; ++j) key_ids[j] = j % 3;
  problem p = standard();
  p.options.lengths.data = lengths;
  p.options.lengths.count = B;
  p.options.documents.queries.data = query_ids;
  p.options.documents.queries.count = n_q;
  p.options.documents.keys.data = key_ids;
  p.options.documents.keys.count = B * n_k;
  attend_and_check(&p);
}

static void test_blocks_and_mask(void) {
  unsigned char blocks[5 * 4], mask[B * n_q * n_k];
  for (int i = 0; i < 5 * 4; ++i) blocks[i] = (unsigned char)(i % 3 != 0);
  for (int i = 0; i < B * n_q * n_k; ++i) mask[i] = (unsigned char)(number(i) > -0.5);
  const lookback_tensor tblocks = lookback_heads_first(blocks, LOOKBACK_BOOLEAN, 1, 1, 5, 4);
  const lookback_tensor tmask = lookback_heads_first(mask, LOOKBACK_BOOLEAN, B, 1, n_q, n_k);
  problem p = standard();
  p.options.blocks.visible = &tblocks;
  p.options.blocks.rows = 4;
  p.options.blocks.keys = 10;
  p.options.mask = &tmask;
  attend_and_check(&p);
}

/* Packed sequences, each against the loops as a problem of its own. */
static void test_packed(void) {
  static const int64_t q_bounds[] = {0, 4, 4, 10}, k_bounds[] = {0, 7, 9, 20};
  problem p = make_problem(1, H, H_kv, 10, 20, d, d_v);
  p.options.q_bounds.data = q_bounds;
  p.options.q_bounds.count = 4;
  p.options.k_bounds.data = k_bounds;
  p.options.k_bounds.count = 4;
  p.options.causal = 1;
  p.options.position.anchor = LOOKBACK_POSITION_BOTTOM_RIGHT;
  CHECK_OK(attend(&p));
  for (int s = 0; s < 3; ++s) {
    const int64_t queries = q_bounds[s + 1] - q_bounds[s], keys = k_bounds[s + 1] - k_bounds[s];
    problem one = make_problem(1, H, H_kv, queries, keys, d, d_v);
    for (int64_t h = 0; h < H; ++h) {
      memcpy(one.q + h * queries * d, p.q + (h * 10 + q_bounds[s]) * d,
             sizeof(float) * (size_t)(queries * d));
      memcpy(one.out + h * queries * d_v, p.out + (h * 10 + q_bounds[s]) * d_v,
             sizeof(float) * (size_t)(queries * d_v));
      memcpy(one.lse + h * queries, p.lse + h * 10 + q_bounds[s], sizeof(float) * (size_t)queries);
    }
    for (int64_t h = 0; h < H_kv; ++h) {
      memcpy(one.k + h * keys * d, p.k + (h * 20 + k_bounds[s]) * d,
             sizeof(float) * (size_t)(keys * d));
      memcpy(one.v + h * keys * d_v, p.v + (h * 20 + k_bounds[s]) * d_v,
             sizeof(float) * (size_t)(keys * d_v));
    }
    one.options.causal = 1;
    one.options.position.anchor = LOOKBACK_POSITION_BOTTOM_RIGHT;
    check_context(&one);
    free_problem(&one);
  }
  free_problem(&p);
}

/* The same numbers in other layouts and types; exact ones, so that the results can be compared. */
static void test_layouts(void) {
  problem p = make_problem(B, H, H_kv, n_q, n_k, d, d_v);
  float *q = malloc(sizeof(float) * B * n_q * H * d),
        *out = malloc(sizeof(float) * B * n_q * H * d_v);
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t h = 0; h < H; ++h) {
      for (int64_t i = 0; i < n_q * d; ++i) {
        q[((b * n_q + i / d) * H + h) * d + i % d] = p.q[(b * H + h) * n_q * d + i];
      }
    }
  }
  const lookback_tensor tq = lookback_positions_first(q, LOOKBACK_FLOAT32, B, n_q, H, d);
  const lookback_output tout =
      lookback_output_positions_first(out, LOOKBACK_FLOAT32, B, n_q, H, d_v);
  CHECK_OK(attend(&p));
  CHECK_OK(lookback_attend(&tq, &p.tk, &p.tv, &tout, NULL, NULL));
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t h = 0; h < H; ++h) {
      for (int64_t i = 0; i < n_q * d_v; ++i) {
        CHECK(out[((b * n_q + i / d_v) * H + h) * d_v + i % d_v] ==
              p.out[(b * H + h) * n_q * d_v + i]);
      }
    }
  }
  free(q), free(out);
  free_problem(&p);
}

static void test_types(void) {
  /* 1 and 3 in each type; equal scores, so the result is their mean. */
  static const double doubles[2] = {1, 3};
  static const uint16_t bfloats[2] = {0x3F80, 0x4040}, halves[2] = {0x3C00, 0x4200};
  const double zero = 0;
  double wide = 0;
  float narrow = 0;
  uint16_t bfloat = 0, half = 0;
  const lookback_tensor q64 = lookback_heads_first(&zero, LOOKBACK_FLOAT64, 1, 1, 1, 1);
  const lookback_tensor v64 = lookback_heads_first(doubles, LOOKBACK_FLOAT64, 1, 1, 2, 1);
  lookback_output out = lookback_output_heads_first(&wide, LOOKBACK_FLOAT64, 1, 1, 1, 1);
  CHECK_OK(lookback_attend(&q64, &v64, &v64, &out, NULL, NULL));
  CHECK(wide == 2);
  const lookback_tensor v16 = lookback_heads_first(bfloats, LOOKBACK_BFLOAT16, 1, 1, 2, 1);
  const lookback_tensor h16 = lookback_heads_first(halves, LOOKBACK_FLOAT16, 1, 1, 2, 1);
  const float none = 0;
  const lookback_tensor q32 = lookback_heads_first(&none, LOOKBACK_FLOAT32, 1, 1, 1, 1);
  out = lookback_output_heads_first(&narrow, LOOKBACK_FLOAT32, 1, 1, 1, 1);
  CHECK_OK(lookback_attend(&q32, &v16, &h16, &out, NULL, NULL));
  CHECK(narrow == 2);
  out = lookback_output_heads_first(&bfloat, LOOKBACK_BFLOAT16, 1, 1, 1, 1);
  CHECK_OK(lookback_attend(&q32, &h16, &v16, &out, NULL, NULL));
  CHECK(bfloat == 0x4000);
  out = lookback_output_heads_first(&half, LOOKBACK_FLOAT16, 1, 1, 1, 1);
  CHECK_OK(lookback_attend(&q32, &h16, &v16, &out, NULL, NULL));
  CHECK(half == 0x4000);
}

void test_attend(void) {
  test_defaults();
  test_scale_and_temperature();
  test_score_terms();
  test_positions();
  test_window_and_prefix();
  test_lengths_and_documents();
  test_blocks_and_mask();
  test_packed();
  test_layouts();
  test_types();
}
