/* lookback_align: every view, against the loops of problem.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "problem.h"
#include "tests.h"

enum { B = 2, H = 4, H_kv = 2, n_q = 13, n_k = 26, d = 8, d_v = 3 };
enum { top = 5, chosen = 3, R = 4, C = 6, D = 7 };
static const int64_t chosen_rows[chosen] = {12, 0, 5};

/* The weights by loops, [B, H, n_q, n_k], and places for results of any view. */
typedef struct matrix {
  problem p;
  double* weights;
  double* scratch;
  float* result[10];
  int64_t* index;
  lookback_output output[10], index_output;
  lookback_views views;
  int64_t heads; /* 1 if they are reduced, else H */
} matrix;

static lookback_output* place(matrix* m, int at, int64_t positions, int64_t features) {
  m->result[at] =
      realloc(m->result[at], sizeof(float) * (size_t)(B * m->heads * positions * features));
  m->output[at] = lookback_output_heads_first(m->result[at], LOOKBACK_FLOAT32, B, m->heads,
                                              positions, features);
  return &m->output[at];
}

/* Causal, windowed, with a sink, so that some rows see little, and weights do not sum to 1. */
static matrix make_matrix(int32_t heads) {
  static const double sinks[H] = {0.5, -1, 0, 1};
  static const double slopes[H] = {0.1, 0.2, 0, 0.05};
  matrix m = {0};
  m.p = make_problem(B, H, H_kv, n_q, n_k, d, d_v);
  m.p.options.causal = 1;
  m.p.options.position.anchor = LOOKBACK_POSITION_OFFSET;
  m.p.options.position.offset = 6;
  m.p.options.window.has_left = 1;
  m.p.options.window.left = 12;
  m.p.options.has_softcap = 1;
  m.p.options.softcap = 1.5;
  m.p.options.sinks.data = sinks;
  m.p.options.alibi.data = slopes;
  m.p.options.sinks.count = m.p.options.alibi.count = H;
  m.heads = heads == LOOKBACK_HEADS_EACH ? H : 1;
  m.weights = calloc((size_t)(B * H * n_q * n_k), sizeof(double));
  m.scratch = malloc(sizeof(double) * n_k);
  m.index = malloc(sizeof(int64_t) * (size_t)(B * H * n_q * top));
  m.index_output = lookback_output_heads_first(m.index, LOOKBACK_INT64, B, m.heads, n_q, top);
  lookback_views_init(&m.views, sizeof m.views);
  m.views.heads = heads;
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t h = 0; h < H; ++h) {
      for (int64_t i = 0; i < n_q; ++i) {
        reference_row(&m.p, b, h, i, LOOKBACK_STAGE_WEIGHTS, m.scratch);
        double* row = m.weights + ((b * m.heads + h % m.heads) * n_q + i) * n_k;
        for (int64_t j = 0; j < n_k; ++j) {
          const double w = m.scratch[j];
          row[j] = heads == LOOKBACK_HEADS_EACH   ? w
                   : heads == LOOKBACK_HEADS_MEAN ? row[j] + w / H
                                                  : fmax(row[j], w);
        }
      }
    }
  }
  return m;
}

static void free_matrix(matrix* m) {
  for (int i = 0; i < 10; ++i) free(m->result[i]);
  free(m->weights), free(m->scratch), free(m->index);
  free_problem(&m->p);
}

static lookback_status align(matrix* m) {
  return lookback_align(&m->p.tq, &m->p.tk, NULL, NULL, &m->views, &m->p.options);
}

static double weight(const matrix* m, int64_t b, int64_t h, int64_t i, int64_t j) {
  return m->weights[((b * m->heads + h) * n_q + i) * n_k + j];
}

/* Calls call(m, b, h) for every head of the views. */
static void for_each_head(matrix* m, void (*call)(matrix*, int64_t, int64_t)) {
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t h = 0; h < m->heads; ++h) call(m, b, h);
  }
}

static void check_rows(matrix* m, int64_t b, int64_t h) {
  for (int64_t r = 0; r < chosen; ++r) {
    for (int64_t j = 0; j < n_k; ++j) {
      CHECK_NEAR((double)m->result[0][((b * m->heads + h) * chosen + r) * n_k + j],
                 weight(m, b, h, chosen_rows[r], j));
    }
  }
}

static void check_stage(matrix* m, int64_t b, int64_t h) {
  for (int64_t r = 0; r < chosen; ++r) {
    reference_row(&m->p, b, h, chosen_rows[r], m->views.rows.stage, m->scratch);
    for (int64_t j = 0; j < n_k; ++j) {
      CHECK_NEAR((double)m->result[0][((b * H + h) * chosen + r) * n_k + j], m->scratch[j]);
    }
  }
}

static void check_top(matrix* m, int64_t b, int64_t h) {
  for (int64_t i = 0; i < n_q; ++i) {
    const int64_t at = ((b * m->heads + h) * n_q + i) * top;
    int64_t seen = 0;
    for (int64_t j = 0; j < n_k; ++j) seen += weight(m, b, h, i, j) > 0;
    for (int64_t t = 0; t < top; ++t) {
      const int64_t j = m->index[at + t];
      const double w = (double)m->result[1][at + t];
      CHECK(t < seen ? j >= 0 && j < n_k : j == -1);
      CHECK(t == 0 || w <= (double)m->result[1][at + t - 1]);
      CHECK_NEAR(w, j < 0 ? 0 : weight(m, b, h, i, j));
      /* As many keys as t are heavier. */
      int64_t heavier = 0;
      for (int64_t other = 0; other < n_k; ++other) {
        heavier += weight(m, b, h, i, other) > w + 1e-5;
      }
      CHECK(j < 0 || heavier <= t);
    }
  }
}

static void check_summary(matrix* m, int64_t b, int64_t h) {
  for (int64_t i = 0; i < n_q; ++i) {
    double entropy = 0, largest = 0, sum = 0, place_sum = 0, distance = 0;
    for (int64_t j = 0; j < n_k; ++j) {
      const double w = weight(m, b, h, i, j);
      if (w > 0) entropy -= w * log(w);
      largest = fmax(largest, w);
      sum += w;
      place_sum += w * (double)j;
      distance += w * fabs((double)(i + 6 - j));
    }
    const int64_t at = (b * m->heads + h) * n_q + i;
    CHECK_NEAR((double)m->result[2][at], entropy);
    CHECK_NEAR((double)m->result[3][at], largest);
    CHECK_NEAR((double)m->result[4][at], place_sum / sum);
    CHECK_NEAR((double)m->result[5][at], distance / sum);
  }
}

static void check_received(matrix* m, int64_t b, int64_t h) {
  const int64_t last = m->views.received.has_last ? m->views.received.last : n_q;
  for (int64_t j = 0; j < n_k; ++j) {
    double sum = 0, most = 0;
    for (int64_t i = n_q - last; i < n_q; ++i) {
      sum += weight(m, b, h, i, j);
      most = fmax(most, weight(m, b, h, i, j));
    }
    CHECK_NEAR((double)m->result[6][(b * m->heads + h) * n_k + j], sum);
    CHECK_NEAR((double)m->result[7][(b * m->heads + h) * n_k + j], most);
  }
}

static void check_pooled(matrix* m, int64_t b, int64_t h) {
  const lookback_pooled_view* view = &m->views.pooled;
  const int64_t first_row = view->has_region ? view->first_row : 0;
  const int64_t first_key = view->has_region ? view->first_key : 0;
  const int64_t rows = view->has_region ? view->end_row - first_row : n_q;
  const int64_t keys = view->has_region ? view->end_key - first_key : n_k;
  for (int64_t r = 0; r < R; ++r) {
    for (int64_t c = 0; c < C; ++c) {
      double sum = 0, most = 0, count = 0;
      for (int64_t i = r * rows / R; i < (r + 1) * rows / R; ++i) {
        for (int64_t j = c * keys / C; j < (c + 1) * keys / C; ++j) {
          const double w = weight(m, b, h, first_row + i, first_key + j);
          sum += w, count += 1, most = fmax(most, w);
        }
      }
      CHECK_NEAR((double)m->result[8][((b * m->heads + h) * R + r) * C + c],
                 view->pooling == LOOKBACK_POOLING_MAX ? most : sum / count);
    }
  }
}

static void check_distances(matrix* m, int64_t b, int64_t h) {
  const lookback_distance_view* view = &m->views.distances;
  double mass[D] = {0}, share = 0, all = 0;
  for (int64_t i = 0; i < n_q; ++i) {
    for (int64_t j = 0; j < n_k; ++j) {
      int64_t at = i + 6 - j;
      at = view->is_signed ? at + (D - 1) / 2 : at < 0 ? -at : at;
      at = at < 0 ? 0 : at > D - 1 ? D - 1 : at;
      const double w = weight(m, b, h, i, j);
      mass[at] += w;
      all += w;
      if (j < (view->has_first ? view->first : 1)) share += w;
    }
  }
  for (int64_t at = 0; at < D; ++at) {
    CHECK_NEAR((double)m->result[0][(b * m->heads + h) * D + at], mass[at]);
  }
  CHECK_NEAR((double)m->result[1][b * m->heads + h], share / all);
}

static void test_one_pass(int32_t heads) {
  matrix m = make_matrix(heads);
  m.views.rows.rows.data = chosen_rows;
  m.views.rows.rows.count = chosen;
  m.views.rows.values = place(&m, 0, chosen, n_k);
  m.views.top.index = &m.index_output;
  m.views.top.weight = place(&m, 1, n_q, top);
  m.views.summary.entropy = place(&m, 2, n_q, 1);
  m.views.summary.largest = place(&m, 3, n_q, 1);
  m.views.summary.position = place(&m, 4, n_q, 1);
  m.views.summary.distance = place(&m, 5, n_q, 1);
  m.views.received.sum = place(&m, 6, n_k, 1);
  m.views.received.max = place(&m, 7, n_k, 1);
  m.views.pooled.cells = place(&m, 8, R, C);
  m.views.lse = &m.p.tlse; /* per head, also if they are reduced */
  CHECK_OK(align(&m));
  for_each_head(&m, check_rows);
  for_each_head(&m, check_top);
  for_each_head(&m, check_summary);
  for_each_head(&m, check_received);
  for_each_head(&m, check_pooled);
  for (int64_t at = 0; at < B * H * n_q; ++at) {
    CHECK_NEAR((double)m.p.lse[at], reference_row(&m.p, at / (H * n_q), at / n_q % H, at % n_q,
                                                  LOOKBACK_STAGE_WEIGHTS, m.scratch));
  }
  free_matrix(&m);
}

static void test_other_choices(int32_t heads) {
  matrix m = make_matrix(heads);
  m.views.received.sum = place(&m, 6, n_k, 1);
  m.views.received.max = place(&m, 7, n_k, 1);
  m.views.received.has_last = 1;
  m.views.received.last = 4;
  m.views.pooled.cells = place(&m, 8, R, C);
  m.views.pooled.pooling = LOOKBACK_POOLING_MAX;
  m.views.pooled.has_region = 1;
  m.views.pooled.first_row = 3;
  m.views.pooled.end_row = 12;
  m.views.pooled.first_key = 1;
  m.views.pooled.end_key = 20;
  for (int is_signed = 0; is_signed < 2; ++is_signed) {
    m.views.distances.mass = place(&m, 0, D, 1);
    m.views.distances.share = place(&m, 1, 1, 1);
    m.views.distances.is_signed = m.views.distances.has_first = is_signed;
    m.views.distances.first = 3;
    CHECK_OK(align(&m));
    for_each_head(&m, check_received);
    for_each_head(&m, check_pooled);
    for_each_head(&m, check_distances);
  }
  free_matrix(&m);
}

static void test_stages(void) {
  matrix m = make_matrix(LOOKBACK_HEADS_EACH);
  m.views.rows.rows.data = chosen_rows;
  m.views.rows.rows.count = chosen;
  m.views.rows.values = place(&m, 0, chosen, n_k);
  for (int32_t stage = LOOKBACK_STAGE_WEIGHTS; stage <= LOOKBACK_STAGE_FINAL; ++stage) {
    m.views.rows.stage = stage;
    CHECK_OK(align(&m));
    for_each_head(&m, check_stage);
  }
  free_matrix(&m);
}

static void test_context_on_the_way(void) {
  matrix m = make_matrix(LOOKBACK_HEADS_EACH);
  float alone[B * H * n_q * d_v];
  CHECK_OK(attend(&m.p));
  memcpy(alone, m.p.out, sizeof alone);
  memset(m.p.out, 0, sizeof alone);
  m.views.summary.largest = place(&m, 3, n_q, 1);
  CHECK_OK(lookback_align(&m.p.tq, &m.p.tk, &m.p.tv, &m.p.tout, &m.views, &m.p.options));
  CHECK(memcmp(alone, m.p.out, sizeof alone) == 0);
  CHECK_ERROR(lookback_align(&m.p.tq, &m.p.tk, &m.p.tv, NULL, &m.views, NULL),
              LOOKBACK_INVALID_ARGUMENT, "out is a null pointer");
  CHECK_ERROR(lookback_align(&m.p.tq, &m.p.tk, NULL, &m.p.tout, &m.views, NULL),
              LOOKBACK_INVALID_ARGUMENT, "v is a null pointer");
  free_matrix(&m);
}

enum { tokens = 10, key_tokens = 20 };
typedef struct packed_results {
  float entropy[H * tokens], weight[H * tokens * top], received[H * key_tokens];
  float rows[H * 2 * key_tokens];
  int64_t index[H * tokens * top];
} packed_results;

/* Some of the tokens, all of them or those of one sequence, and some of the chosen rows. */
typedef struct part {
  int64_t first_q, n, first_k, keys;
  lookback_integers rows;
  int64_t first_chosen;
} part;

static lookback_output slice(lookback_output all, int64_t size, int64_t first, int64_t count) {
  all.data = (char*)all.data + size * first * all.stride[2];
  all.extent[2] = count;
  return all;
}
static lookback_output floats(float* data, int64_t n, int64_t features, int64_t first,
                              int64_t count) {
  return slice(lookback_output_heads_first(data, LOOKBACK_FLOAT32, 1, H, n, features),
               sizeof(float), first, count);
}

/* Writes where the whole has the part. */
static void align_part(const problem* p, const part* s, packed_results* to) {
  lookback_tensor q = p->tq, k = p->tk;
  q.data = p->q + s->first_q * d, q.extent[2] = s->n;
  k.data = p->k + s->first_k * d, k.extent[2] = s->keys;
  const lookback_output entropy = floats(to->entropy, tokens, 1, s->first_q, s->n);
  const lookback_output weight = floats(to->weight, tokens, top, s->first_q, s->n);
  const lookback_output received = floats(to->received, key_tokens, 1, s->first_k, s->keys);
  lookback_output rows = floats(to->rows, 2, key_tokens, s->first_chosen, s->rows.count);
  rows.extent[3] = s->keys;
  const lookback_output index =
      slice(lookback_output_heads_first(to->index, LOOKBACK_INT64, 1, H, tokens, top),
            sizeof(int64_t), s->first_q, s->n);
  lookback_views views = {.struct_size = sizeof views};
  views.summary.entropy = &entropy;
  views.top.index = &index;
  views.top.weight = &weight;
  views.received.sum = &received;
  views.rows.rows = s->rows;
  views.rows.values = &rows;
  CHECK_OK(lookback_align(&q, &k, NULL, NULL, &views, &p->options));
}

/* Packed sequences have the bits of calls of their own. */
static void test_packed(void) {
  static const int64_t q_bounds[] = {0, 4, 4, tokens}, k_bounds[] = {0, 7, 9, key_tokens};
  static const int64_t rows_by_token[] = {3, 9}, rows_of_sequence[] = {3, 5};
  static packed_results together, apart;
  problem p = make_problem(1, H, H_kv, tokens, key_tokens, d, d_v);
  p.options.causal = 1;
  p.options.position.anchor = LOOKBACK_POSITION_BOTTOM_RIGHT;
  for (int s = 0; s < 3; ++s) {
    const lookback_integers row = {rows_of_sequence + s / 2, s != 1};
    const part one = {q_bounds[s], q_bounds[s + 1] - q_bounds[s],
                      k_bounds[s], k_bounds[s + 1] - k_bounds[s],
                      row,         s / 2};
    align_part(&p, &one, &apart);
  }
  const part all = {0, tokens, 0, key_tokens, {rows_by_token, 2}, 0};
  p.options.q_bounds.data = q_bounds;
  p.options.k_bounds.data = k_bounds;
  p.options.q_bounds.count = p.options.k_bounds.count = 4;
  align_part(&p, &all, &together);
  CHECK(together.entropy[0] > 0);
  CHECK(memcmp(&together, &apart, sizeof apart) == 0);
  free_problem(&p);
}

void test_align(void) {
  for (int32_t heads = LOOKBACK_HEADS_EACH; heads <= LOOKBACK_HEADS_MAX; ++heads) {
    test_one_pass(heads);
    test_other_choices(heads);
  }
  test_stages();
  test_context_on_the_way();
  test_packed();
}
