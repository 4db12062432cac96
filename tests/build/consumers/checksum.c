/* Attention through the C interface, as one number over the bits of the results: checksum.cpp and
 * every way of building and linking must print the same. Inputs are multiples of 2^-8. */
#include <inttypes.h>
#include <lookback/lookback.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { B = 2, H = 4, H_kv = 2, n_q = 33, n_k = 700, d = 24, d_v = 20 };

static float* numbers(size_t count, uint32_t seed) {
  float* list = malloc(count * sizeof *list);
  if (!list) exit(1);
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    list[i] = (float)((int32_t)(seed >> 23) - 256) / 256;
  }
  return list;
}

/* FNV-1a over 32-bit words. */
static uint64_t checksum(uint64_t sum, const float* list, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits;
    memcpy(&bits, &list[i], sizeof bits);
    sum = (sum ^ bits) * 1099511628211u;
  }
  return sum;
}

int main(void) {
  float *q = numbers(B * H * n_q * d, 1), *k = numbers(B * H_kv * n_k * d, 2);
  float* v = numbers(B * H_kv * n_k * d_v, 3);
  float *out = numbers(B * H * n_q * d_v, 4), *lse = numbers(B * H * n_q, 5);
  const lookback_tensor tq = lookback_heads_first(q, LOOKBACK_FLOAT32, B, H, n_q, d);
  const lookback_tensor tk = lookback_heads_first(k, LOOKBACK_FLOAT32, B, H_kv, n_k, d);
  const lookback_tensor tv = lookback_heads_first(v, LOOKBACK_FLOAT32, B, H_kv, n_k, d_v);
  const lookback_output tout = lookback_output_heads_first(out, LOOKBACK_FLOAT32, B, H, n_q, d_v);
  const lookback_output tlse = lookback_output_heads_first(lse, LOOKBACK_FLOAT32, B, H, n_q, 1);
  const double slopes[H] = {0.5, 0.25, 0.125, 0.0625};
  lookback_options options;
  lookback_options_init(&options, sizeof options);
  options.causal = 1;
  options.position.anchor = LOOKBACK_POSITION_OFFSET;
  options.position.offset = 660; /* the last keys are seen by no row, the first by all */
  options.alibi.data = slopes;
  options.alibi.count = H;
  options.has_temperature = 1;
  options.temperature = 0.75;
  if (lookback_attend(&tq, &tk, &tv, &tout, &tlse, &options) != LOOKBACK_OK) {
    fprintf(stderr, "%s\n", lookback_last_error());
    return 1;
  }
  uint64_t sum = checksum(14695981039346656037u, out, B * H * n_q * d_v);
  sum = checksum(sum, lse, B * H * n_q);
  printf("%016" PRIx64 "\n", sum);
  free(q), free(k), free(v), free(out), free(lse);
  return 0;
}
