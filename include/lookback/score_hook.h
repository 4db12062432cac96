/* The score hook: a plain C function that may change scores on their way to the softmax. Usable from
 * C99 and C++; it takes the place of a kernel compiled for each new kind of attention. */
#ifndef LOOKBACK_SCORE_HOOK_H
#define LOOKBACK_SCORE_HOOK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tile of scores of one head, after scale, softcap, ALiBi and bias and before masking. The score of
 * tile row r (query row first_row + r, which stands at position first_position + r) and tile key c
 * (key first_key + c, counted from the sequence's own first key) is
 * scores[r * row_stride + c * key_stride], of float or, if is_float64, double. */
typedef struct lookback_score_tile {
  void* scores;
  int32_t is_float64;
  int32_t reserved;
  int64_t row_stride;
  int64_t key_stride;
  int64_t rows;
  int64_t keys;
  int64_t sequence; /* batch index, or index of the packed sequence */
  int64_t head;     /* query head */
  int64_t first_row;
  int64_t first_position;
  int64_t first_key;
} lookback_score_tile;

/* Changes the scores in place; -inf hides a key from a row. What it writes where a mask hides the key
 * does not matter. A score may depend on its own value and on where it stands (sequence, head, row,
 * position, key) and on nothing else of the tile: tiles are cut differently from call to call.
 * It may be called from several threads at once, and must not throw or call back into the library's
 * running call. */
typedef void (*lookback_score_hook)(const lookback_score_tile* tile, void* user);

#ifdef __cplusplus
}
#endif

#endif
