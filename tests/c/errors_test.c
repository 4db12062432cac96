/* What C lets a caller get wrong, and C++ does not; what both do is tested in C++. Nothing may be
 * written. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "problem.h"
#include "tests.h"

enum { H = 2, n_q = 3, n_k = 5, d = 4 };

/* One thing wrong in the options or the views, and what the sentence names. */
typedef struct wrong {
  lookback_options options;
  lookback_views views;
} wrong;

static const int64_t integers[8] = {0};
static const double reals[8] = {0};
static float room[H * n_q * n_k];
static lookback_tensor array;
static lookback_output result;

#define EXPECT(text, ...)                                 \
  do {                                                    \
    wrong w = {{.struct_size = sizeof(lookback_options)}, \
               {.struct_size = sizeof(lookback_views)}};  \
    __VA_ARGS__;                                          \
    refuse(&w, (text), __LINE__);                         \
  } while (0)

static void refuse(const wrong* w, const char* text, int line) {
  problem p = make_problem(1, H, H, n_q, n_k, d, d);
  const float before = p.out[0];
  check_error(lookback_align(&p.tq, &p.tk, &p.tv, &p.tout, &w->views, &w->options),
              LOOKBACK_INVALID_ARGUMENT, text, __FILE__, line);
  check(p.out[0] == before, __FILE__, line, "nothing was written");
  free_problem(&p);
}

static void test_flags(void) {
  EXPECT("causal is 2", w.options.causal = 2);
  EXPECT("has_scale is -1", w.options.has_scale = -1);
  EXPECT("has_temperature is 8", w.options.has_temperature = 8);
  EXPECT("has_softcap is 3", w.options.has_softcap = 3);
  EXPECT("has_prefix is 9", w.options.has_prefix = 9);
  EXPECT("has_threads is 2", w.options.has_threads = 2);
  EXPECT("window.has_left is 5", w.options.window.has_left = 5);
  EXPECT("window.has_right is 5", w.options.window.has_right = 5);
  EXPECT("received.has_last is 2", w.views.received.has_last = 2);
  EXPECT("pooled.has_region is 2", w.views.pooled.has_region = 2);
  EXPECT("distances.is_signed is 2", w.views.distances.is_signed = 2);
  EXPECT("distances.has_first is 2", w.views.distances.has_first = 2);
}

static void test_enumerations(void) {
  EXPECT("position.anchor is 5", w.options.position.anchor = 5);
  EXPECT("position.anchor is -1", w.options.position.anchor = -1);
  EXPECT("rows.stage is 4", w.views.rows.stage = 4);
  EXPECT("pooled.pooling is 2", w.views.pooled.pooling = 2);
  EXPECT("heads is 3", w.views.heads = 3);
  EXPECT("bias.type is 6", w.options.bias = &array; array.type = 6);
  EXPECT("mask.type is -1", w.options.mask = &array; array.type = -1);
  array.type = LOOKBACK_FLOAT32;
  EXPECT("bias.reserved is 1", w.options.bias = &array; array.reserved = 1);
  array.reserved = 0;
  EXPECT("lse.type is 99", w.views.lse = &result; result.type = 99);
  result.type = LOOKBACK_FLOAT32;
}

static void test_lists(void) {
  EXPECT("alibi.count is -1", w.options.alibi.data = reals; w.options.alibi.count = -1);
  EXPECT("sinks is a null pointer", w.options.sinks.count = 2);
  EXPECT("sinks holds 1", w.options.sinks.data = reals; w.options.sinks.count = 1);
  EXPECT("lengths is a null pointer", w.options.lengths.count = 1);
  EXPECT("q_bounds.count is -2", w.options.q_bounds.count = -2);
  EXPECT("k_bounds", w.options.k_bounds.data = integers; w.options.k_bounds.count = 2);
  EXPECT("position.offsets is given", w.options.position.offsets.data = integers);
  EXPECT("position holds 0 offsets", w.options.position.anchor = LOOKBACK_POSITION_PER_SEQUENCE);
  EXPECT("documents.keys is given without", w.options.documents.keys.data = integers;
         w.options.documents.keys.count = n_k);
  EXPECT("rows.rows.count is -1", w.views.rows.rows.count = -1);
}

/* Parts of an option or view without the part that asks for it. */
static void test_lone_parts(void) {
  EXPECT("blocks.visible is a null", w.options.blocks.rows = 1);
  EXPECT("rows.values is a null", w.views.rows.rows.data = integers; w.views.rows.rows.count = 1);
  EXPECT("top.weight is a null", w.views.top.index = &result);
  EXPECT("top.index is a null", w.views.top.weight = &result);
  EXPECT("received.last is given without", w.views.received.has_last = 1);
  EXPECT("pooled.cells is a null", w.views.pooled.has_region = 1);
  EXPECT("distances.share is a null", w.views.distances.has_first = 1);
}

/* The engine's own sentences arrive, with names that this header has. */
static void test_engine(void) {
  EXPECT("scale is nan", w.options.has_scale = 1; w.options.scale = NAN);
  EXPECT("temperature is 0", w.options.has_temperature = 1);
  EXPECT("softcap is -1", w.options.has_softcap = 1; w.options.softcap = -1);
  EXPECT("needs a position", w.options.causal = 1);
  EXPECT("window.left is -1", w.options.window.has_left = 1; w.options.window.left = -1;
         w.options.position.anchor = LOOKBACK_POSITION_TOP_LEFT);
  EXPECT("blocks.rows is 0", w.options.blocks.visible = &array);
  EXPECT("lse has", w.views.lse = &result);
  EXPECT("received.last is -1", w.views.received.sum = &result; w.views.received.has_last = 1;
         w.views.received.last = -1);
}

/* What a caller compiled with another version passes. */
static void test_sizes(void) {
  struct {
    lookback_options known;
    int64_t later;
  } longer;
  struct {
    lookback_views known;
    int64_t later;
  } longer_views;
  problem p = make_problem(1, H, H, n_q, n_k, d, d);
  lookback_options_init(&longer.known, sizeof longer);
  CHECK(longer.known.struct_size == sizeof longer && longer.later == 0);
  CHECK_OK(lookback_attend(&p.tq, &p.tk, &p.tv, &p.tout, NULL, &longer.known));
  longer.later = 1;
  CHECK_ERROR(lookback_attend(&p.tq, &p.tk, &p.tv, &p.tout, NULL, &longer.known),
              LOOKBACK_INVALID_ARGUMENT, "does not know");
  longer.known.struct_size = sizeof longer.known; /* what lies beyond is not looked at */
  CHECK_OK(lookback_attend(&p.tq, &p.tk, &p.tv, &p.tout, NULL, &longer.known));
  lookback_views_init(&longer_views.known, sizeof longer_views);
  CHECK_OK(lookback_align(&p.tq, &p.tk, NULL, NULL, &longer_views.known, NULL));
  longer_views.later = 1;
  CHECK_ERROR(lookback_align(&p.tq, &p.tk, NULL, NULL, &longer_views.known, NULL),
              LOOKBACK_INVALID_ARGUMENT, "does not know");
  EXPECT("options.struct_size is 0", w.options.struct_size = 0);
  EXPECT("views.struct_size is 8", w.views.struct_size = 8);
  EXPECT("lookback_options_init", w.options.struct_size = (size_t)-1);
  lookback_options_init(NULL, sizeof longer);
  lookback_views_init(NULL, 0);
  free_problem(&p);
}

static void test_null_arguments(void) {
  problem p = make_problem(1, H, H, n_q, n_k, d, d);
  const int bad = LOOKBACK_INVALID_ARGUMENT;
  CHECK_ERROR(lookback_attend(NULL, &p.tk, &p.tv, &p.tout, NULL, NULL), bad, "q is a null");
  CHECK_ERROR(lookback_attend(&p.tq, NULL, &p.tv, &p.tout, NULL, NULL), bad, "k is a null");
  CHECK_ERROR(lookback_attend(&p.tq, &p.tk, NULL, &p.tout, NULL, NULL), bad, "v is a null");
  CHECK_ERROR(lookback_attend(&p.tq, &p.tk, &p.tv, NULL, NULL, NULL), bad, "out is a null");
  CHECK_ERROR(lookback_align(&p.tq, &p.tk, NULL, NULL, NULL, NULL), bad, "views is a null");
  p.tv.extent[2] = n_k - 1;
  CHECK_ERROR(attend(&p), bad, "v has 4 positions but k has 5");
  p.tv.extent[2] = n_k;
  p.tq.type = 77;
  CHECK_ERROR(attend(&p), bad, "q.type is 77");
  free_problem(&p);
}

void test_errors(void) {
  array = lookback_heads_first(room, LOOKBACK_FLOAT32, 1, 1, n_q, n_k);
  result = lookback_output_heads_first(room, LOOKBACK_FLOAT32, 1, H, n_k, 1);
  test_flags();
  test_enumerations();
  test_lists();
  test_lone_parts();
  test_engine();
  test_sizes();
  test_null_arguments();
}
