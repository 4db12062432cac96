#include <lookback/lookback.h>
#include <stdio.h>

enum { n = 1000, d = 64 }; /* one query, n keys and values of d features */
static float q[d], k[n * d], v[n * d], out[d];

int main(void) {
  for (int i = 0; i < n * d; ++i) v[i] = 0.5f;
  const lookback_tensor tq = lookback_heads_first(q, LOOKBACK_FLOAT32, 1, 1, 1, d);
  const lookback_tensor tk = lookback_heads_first(k, LOOKBACK_FLOAT32, 1, 1, n, d);
  const lookback_tensor tv = lookback_heads_first(v, LOOKBACK_FLOAT32, 1, 1, n, d);
  const lookback_output to = lookback_output_heads_first(out, LOOKBACK_FLOAT32, 1, 1, 1, d);
  if (lookback_attend(&tq, &tk, &tv, &to, NULL, NULL) != LOOKBACK_OK) {
    puts(lookback_last_error());
    return 1;
  }
  printf("%g\n", (double)out[0]); /* every value is 0.5, so every blend of them is */
  return 0;
}
