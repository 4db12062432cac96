#include "problem.h"

#include <math.h>
#include <stdlib.h>

#include "check.h"

double number(int64_t index) {
  uint32_t x = (uint32_t)index * 2654435761u + 12345u;
  x = (x ^ (x >> 15)) * 2246822519u;
  x ^= x >> 13;
  return (double)(int32_t)(x % 2001u) / 1000.0 - 1.0;
}

static float* numbers(int64_t count, int64_t seed) {
  float* list = malloc(sizeof(float) * (size_t)(count > 0 ? count : 1));
  for (int64_t i = 0; list && i < count; ++i) list[i] = (float)number(i + 100003 * seed);
  return list;
}

problem make_problem(int64_t B, int64_t H, int64_t H_kv, int64_t n_q, int64_t n_k, int64_t d,
                     int64_t d_v) {
  problem p;
  p.B = B, p.H = H, p.H_kv = H_kv, p.n_q = n_q, p.n_k = n_k, p.d = d, p.d_v = d_v;
  p.q = numbers(B * H * n_q * d, 1);
  p.k = numbers(B * H_kv * n_k * d, 2);
  p.v = numbers(B * H_kv * n_k * d_v, 3);
  p.out = numbers(B * H * n_q * d_v, 4);
  p.lse = numbers(B * H * n_q, 5);
  p.tq = lookback_heads_first(p.q, LOOKBACK_FLOAT32, B, H, n_q, d);
  p.tk = lookback_heads_first(p.k, LOOKBACK_FLOAT32, B, H_kv, n_k, d);
  p.tv = lookback_heads_first(p.v, LOOKBACK_FLOAT32, B, H_kv, n_k, d_v);
  p.tout = lookback_output_heads_first(p.out, LOOKBACK_FLOAT32, B, H, n_q, d_v);
  p.tlse = lookback_output_heads_first(p.lse, LOOKBACK_FLOAT32, B, H, n_q, 1);
  lookback_options_init(&p.options, sizeof p.options);
  return p;
}

void free_problem(problem* p) {
  free(p->q), free(p->k), free(p->v), free(p->out), free(p->lse);
}

lookback_status attend(const problem* p) {
  return lookback_attend(&p->tq, &p->tk, &p->tv, &p->tout, &p->tlse, &p->options);
}

/* Where an element of an array lies whose extents of 1 are broadcast. */
static int64_t place(const lookback_tensor* t, int64_t b, int64_t h, int64_t i, int64_t j) {
  const int64_t index[4] = {b, h, i, j};
  int64_t at = 0;
  for (int a = 0; a < 4; ++a) at += t->extent[a] == 1 ? 0 : index[a] * t->stride[a];
  return at;
}

static int is_true(const lookback_tensor* t, int64_t b, int64_t h, int64_t i, int64_t j) {
  return ((const unsigned char*)t->data)[place(t, b, h, i, j)] != 0;
}

static int64_t length(const problem* p, int64_t b) {
  return p->options.lengths.data ? p->options.lengths.data[b] : p->n_k;
}

static int64_t position(const problem* p, int64_t b, int64_t i) {
  const lookback_position* at = &p->options.position;
  if (at->anchor == LOOKBACK_POSITION_BOTTOM_RIGHT) return i + length(p, b) - p->n_q;
  if (at->anchor == LOOKBACK_POSITION_OFFSET) return i + at->offset;
  if (at->anchor == LOOKBACK_POSITION_PER_SEQUENCE) return i + at->offsets.data[b];
  return i;
}

static double per_head(const problem* p, const lookback_numbers* list, int64_t b, int64_t h) {
  return list->data[list->count == p->H ? h : b * p->H + h];
}

static int64_t id(const lookback_integers* list, int64_t n, int64_t b, int64_t i) {
  return list->data[list->count == n ? i : b * n + i];
}

static int visible(const problem* p, int64_t b, int64_t h, int64_t i, int64_t j) {
  const lookback_options* o = &p->options;
  const int64_t at = position(p, b, i);
  int seen = (!o->causal || j <= at) && (!o->window.has_left || at - o->window.left <= j) &&
             (!o->window.has_right || j <= at + o->window.right);
  if (o->has_prefix && j < o->prefix) seen = 1;
  if (j >= length(p, b)) seen = 0;
  if (o->documents.queries.data) {
    const lookback_integers* keys =
        o->documents.keys.data ? &o->documents.keys : &o->documents.queries;
    if (id(&o->documents.queries, p->n_q, b, i) != id(keys, p->n_k, b, j)) seen = 0;
  }
  if (o->blocks.visible) {
    if (!is_true(o->blocks.visible, b, h, i / o->blocks.rows, j / o->blocks.keys)) seen = 0;
  }
  if (o->mask && !is_true(o->mask, b, h, i, j)) seen = 0;
  return seen;
}

static double scaled_score(const problem* p, int64_t b, int64_t h, int64_t i, int64_t j) {
  const float* q = p->q + ((b * p->H + h) * p->n_q + i) * p->d;
  const float* k = p->k + ((b * p->H_kv + h / (p->H / p->H_kv)) * p->n_k + j) * p->d;
  double sum = 0;
  for (int64_t f = 0; f < p->d; ++f) sum += (double)q[f] * (double)k[f];
  return sum * (p->options.has_scale ? p->options.scale : 1 / sqrt((double)p->d));
}

/* ALiBi, bias, hook and visibility, on capped scores. */
static void finish_scores(const problem* p, int64_t b, int64_t h, int64_t i, double* row) {
  const lookback_options* o = &p->options;
  for (int64_t j = 0; j < p->n_k; ++j) {
    if (o->alibi.data) {
      row[j] -= per_head(p, &o->alibi, b, h) * fabs((double)(position(p, b, i) - j));
    }
    if (o->bias) row[j] += (double)((const float*)o->bias->data)[place(o->bias, b, h, i, j)];
  }
  if (o->hook) {
    const lookback_score_tile tile = {row, 1, 0, p->n_k, 1, 1, p->n_k, b, h, i, position(p, b, i),
                                      0};
    o->hook(&tile, o->hook_user);
  }
  for (int64_t j = 0; j < p->n_k; ++j) {
    if (!visible(p, b, h, i, j)) row[j] = -INFINITY;
  }
}

double reference_row(const problem* p, int64_t b, int64_t h, int64_t i, int32_t stage,
                     double* row) {
  const lookback_options* o = &p->options;
  const double T = o->has_temperature ? o->temperature : 1;
  for (int64_t j = 0; j < p->n_k; ++j) {
    row[j] = scaled_score(p, b, h, i, j);
    if (o->has_softcap && stage != LOOKBACK_STAGE_SCALED) {
      row[j] = o->softcap * tanh(row[j] / o->softcap);
    }
  }
  if (stage == LOOKBACK_STAGE_SCALED || stage == LOOKBACK_STAGE_CAPPED) return 0;
  finish_scores(p, b, h, i, row);
  const double sink = o->sinks.data ? per_head(p, &o->sinks, b, h) : -INFINITY;
  double most = T * sink, sum = 0;
  for (int64_t j = 0; j < p->n_k; ++j) most = fmax(most, row[j]);
  if (most == -INFINITY) {
    for (int64_t j = 0; j < p->n_k && stage == LOOKBACK_STAGE_WEIGHTS; ++j) row[j] = 0;
    return -INFINITY;
  }
  for (int64_t j = 0; j < p->n_k; ++j) sum += exp((row[j] - most) / T);
  sum += exp(sink - most / T);
  for (int64_t j = 0; j < p->n_k && stage == LOOKBACK_STAGE_WEIGHTS; ++j) {
    row[j] = exp((row[j] - most) / T) / sum;
  }
  return most / T + log(sum);
}

static void check_context_row(const problem* p, int64_t b, int64_t h, int64_t i, double* row) {
  const int64_t at = (b * p->H + h) * p->n_q + i;
  const float* v = p->v + (b * p->H_kv + h / (p->H / p->H_kv)) * p->n_k * p->d_v;
  CHECK_NEAR((double)p->lse[at], reference_row(p, b, h, i, LOOKBACK_STAGE_WEIGHTS, row));
  for (int64_t f = 0; f < p->d_v; ++f) {
    double sum = 0;
    for (int64_t j = 0; j < p->n_k; ++j) sum += row[j] * (double)v[j * p->d_v + f];
    CHECK_NEAR((double)p->out[at * p->d_v + f], sum);
  }
}

void check_context(const problem* p) {
  double* row = malloc(sizeof(double) * (size_t)(p->n_k + 1));
  for (int64_t b = 0; b < p->B; ++b) {
    for (int64_t h = 0; h < p->H; ++h) {
      for (int64_t i = 0; i < p->n_q; ++i) check_context_row(p, b, h, i, row);
    }
  }
  free(row);
}
