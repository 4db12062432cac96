/* lookback_merge of parts over disjoint keys, against attention over all of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "problem.h"
#include "tests.h"

enum { H = 2, n_q = 7, n_k = 30, d = 4, d_v = 6, parts = 3 };

typedef struct results {
  float out[parts + 1][H * n_q * d_v], lse[parts + 1][H * n_q];
} results;

static lookback_part part_of(results* r, int p) {
  const lookback_part part = {lookback_heads_first(r->out[p], LOOKBACK_FLOAT32, 1, H, n_q, d_v),
                              lookback_heads_first(r->lse[p], LOOKBACK_FLOAT32, 1, H, n_q, 1)};
  return part;
}

/* Keys 0 to 9, 10 to 19 and 20 to 29; the last part has seen nothing. */
static void attend_to_parts(const problem* p, results* r, lookback_part* list) {
  for (int s = 0; s < parts; ++s) {
    lookback_tensor k = p->tk, v = p->tv;
    k.data = p->k + s * 10 * d;
    v.data = p->v + s * 10 * d_v;
    k.extent[2] = v.extent[2] = 10;
    const lookback_output out =
        lookback_output_heads_first(r->out[s], LOOKBACK_FLOAT32, 1, H, n_q, d_v);
    const lookback_output lse =
        lookback_output_heads_first(r->lse[s], LOOKBACK_FLOAT32, 1, H, n_q, 1);
    CHECK_OK(lookback_attend(&p->tq, &k, &v, &out, &lse, NULL));
    list[s] = part_of(r, s);
  }
  for (int i = 0; i < H * n_q * d_v; ++i) r->out[parts][i] = 0;
  for (int i = 0; i < H * n_q; ++i) r->lse[parts][i] = -INFINITY;
  list[parts] = part_of(r, parts);
}

void test_merge(void) {
  problem p = make_problem(1, H, H, n_q, n_k, d, d_v);
  results* r = malloc(sizeof *r);
  lookback_part list[parts + 1];
  attend_to_parts(&p, r, list);
  CHECK_OK(lookback_merge(list, parts + 1, &p.tout, &p.tlse));
  check_context(&p);

  /* Two parts in either order, and one with the neutral element. */
  float once[H * n_q * d_v];
  CHECK_OK(lookback_merge(list, 2, &p.tout, NULL));
  memcpy(once, p.out, sizeof once);
  const lookback_part swapped[] = {list[1], list[0]}, neutral[] = {list[parts], list[2]};
  CHECK_OK(lookback_merge(swapped, 2, &p.tout, &p.tlse));
  CHECK(memcmp(once, p.out, sizeof once) == 0);
  CHECK_OK(lookback_merge(neutral, 2, &p.tout, &p.tlse));
  CHECK(memcmp(r->out[2], p.out, sizeof once) == 0);
  CHECK_OK(lookback_merge(NULL, 0, &p.tout, &p.tlse));
  CHECK(p.out[0] == 0 && p.lse[0] == -INFINITY);

  CHECK_ERROR(lookback_merge(list, -1, &p.tout, NULL), LOOKBACK_INVALID_ARGUMENT, "count is -1");
  CHECK_ERROR(lookback_merge(NULL, 2, &p.tout, NULL), LOOKBACK_INVALID_ARGUMENT, "parts");
  CHECK_ERROR(lookback_merge(list, 2, NULL, NULL), LOOKBACK_INVALID_ARGUMENT, "out is a null");
  list[1].lse.type = 17;
  CHECK_ERROR(lookback_merge(list, 2, &p.tout, NULL), LOOKBACK_INVALID_ARGUMENT,
              "parts[1].lse.type is 17");
  free(r);
  free_problem(&p);
}
