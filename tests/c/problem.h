/* A small problem with contiguous float32 arrays, and attention by simple loops in double. */
#ifndef LOOKBACK_TESTS_C_PROBLEM_H
#define LOOKBACK_TESTS_C_PROBLEM_H

#include "lookback/lookback.h"

typedef struct problem {
  int64_t B, H, H_kv, n_q, n_k, d, d_v;
  float *q, *k, *v; /* heads first */
  float *out, *lse; /* [B, H, n_q, d_v], [B, H, n_q] */
  lookback_tensor tq, tk, tv;
  lookback_output tout, tlse;
  lookback_options options;
} problem;

/* Filled with numbers that depend on the sizes only; options are absent. */
problem make_problem(int64_t B, int64_t H, int64_t H_kv, int64_t n_q, int64_t n_k, int64_t d,
                     int64_t d_v);
void free_problem(problem* p);

/* A number in [-1, 1], the same for the same index. */
double number(int64_t index);

/* lookback_attend on all of it. */
lookback_status attend(const problem* p);

/* The scores of a row at a LOOKBACK_STAGE_..., hidden ones -inf at the final stage, or its weights.
 * Returns its lse. */
double reference_row(const problem* p, int64_t b, int64_t h, int64_t i, int32_t stage, double* row);

/* Checks p->out and p->lse against the loops. */
void check_context(const problem* p);

#endif
