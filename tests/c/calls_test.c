/* What surrounds the calls: progress and cancelling, threads, targets, messages, versions. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "problem.h"
#include "tests.h"

typedef struct watch {
  int calls;
  double last;
  double stop_at;
  int rises;
} watch;

static int32_t look(double fraction, void* user) {
  watch* w = user;
  w->rises = w->rises && fraction >= w->last && fraction <= 1;
  w->last = fraction;
  ++w->calls;
  return fraction < w->stop_at;
}

static void test_progress(void) {
  problem p = make_problem(2, 4, 2, 64, 300, 16, 16);
  watch whole = {0, 0, 2, 1}, stopped = {0, 0, 0, 1};
  p.options.progress = look;
  p.options.progress_user = &whole;
  CHECK_OK(attend(&p));
  CHECK(whole.calls >= 2 && whole.rises && whole.last == 1);
  p.options.progress_user = &stopped;
  CHECK_ERROR(attend(&p), LOOKBACK_CANCELLED, "progress");
  CHECK(stopped.calls == 1);

  float* received = malloc(sizeof(float) * 2 * 4 * 300);
  const lookback_output sum = lookback_output_heads_first(received, LOOKBACK_FLOAT32, 2, 4, 300, 1);
  lookback_views views = {.struct_size = sizeof views};
  views.received.sum = &sum;
  watch half = {0, 0, 0.5, 1};
  p.options.progress_user = &half;
  CHECK_ERROR(lookback_align(&p.tq, &p.tk, NULL, NULL, &views, &p.options), LOOKBACK_CANCELLED,
              "progress");
  CHECK(half.rises && half.last >= 0.5);
  free(received);
  free_problem(&p);
}

static void test_threads(void) {
  problem p = make_problem(3, 4, 2, 70, 700, 16, 16);
  const size_t size = sizeof(float) * 3 * 4 * 70 * 16;
  float* first = malloc(size);
  for (int32_t threads = 1; threads <= 3; ++threads) {
    p.options.has_threads = 1;
    p.options.threads = threads;
    CHECK_OK(attend(&p));
    if (threads == 1) memcpy(first, p.out, size);
    CHECK(memcmp(first, p.out, size) == 0);
  }
  p.options.threads = 0;
  CHECK_ERROR(attend(&p), LOOKBACK_INVALID_ARGUMENT, "threads is 0");
  free(first);
  free_problem(&p);
}

/* The bits of every target that has fused multiply-add are the same. */
static void test_targets(void) {
  problem p = make_problem(1, 2, 2, 33, 65, 8, 8);
  const size_t size = sizeof(float) * 2 * 33 * 8;
  float* first = NULL;
  const char *before = NULL, *now = NULL;
  CHECK_OK(lookback_active_target(&before));
  CHECK(lookback_target_count() >= 1);
  for (int64_t t = 0; t < lookback_target_count(); ++t) {
    lookback_target target;
    CHECK_OK(lookback_get_target(t, &target, sizeof target));
    CHECK(target.name[0] != '\0' && target.float32_lanes >= 4 && target.reserved == 0);
    CHECK((target.supported == 0 || target.supported == 1) &&
          (target.same_bits == 0 || target.same_bits == 1));
    if (!target.supported) {
      CHECK_ERROR(lookback_set_target(target.name), LOOKBACK_UNSUPPORTED_TARGET, target.name);
      continue;
    }
    CHECK_OK(lookback_set_target(target.name));
    CHECK_OK(lookback_active_target(&now));
    CHECK(strcmp(now, target.name) == 0);
    CHECK_OK(attend(&p));
    check_context(&p);
    if (target.same_bits && !first) {
      first = malloc(size);
      memcpy(first, p.out, size);
    }
    if (target.same_bits) CHECK(memcmp(first, p.out, size) == 0);
  }
  CHECK_OK(lookback_set_target(before));
  CHECK_ERROR(lookback_set_target("avx1024"), LOOKBACK_UNSUPPORTED_TARGET, "avx1024");
  CHECK_ERROR(lookback_set_target(NULL), LOOKBACK_INVALID_ARGUMENT, "name is a null");
  CHECK_ERROR(lookback_active_target(NULL), LOOKBACK_INVALID_ARGUMENT, "name is a null");
  free(first);
  free_problem(&p);
}

/* A caller that knows fewer fields gets those, one that knows more gets zeros. */
static void test_target_sizes(void) {
  struct {
    lookback_target known;
    int64_t later;
  } longer = {{0}, 7};
  lookback_target shorter = {0};
  shorter.float32_lanes = -1;
  CHECK_OK(lookback_get_target(0, &longer.known, sizeof longer));
  CHECK(longer.known.float32_lanes >= 4 && longer.later == 0);
  CHECK_OK(lookback_get_target(0, &shorter, offsetof(lookback_target, float32_lanes)));
  CHECK(shorter.name == longer.known.name && shorter.float32_lanes == -1);
  CHECK_ERROR(lookback_get_target(0, NULL, sizeof shorter), LOOKBACK_INVALID_ARGUMENT, "target");
  CHECK_ERROR(lookback_get_target(0, &shorter, (size_t)-1), LOOKBACK_INVALID_ARGUMENT,
              "struct_size is");
  CHECK_ERROR(lookback_get_target(-1, &shorter, sizeof shorter), LOOKBACK_INVALID_ARGUMENT,
              "index is -1");
  CHECK_ERROR(lookback_get_target(lookback_target_count(), &shorter, sizeof shorter),
              LOOKBACK_INVALID_ARGUMENT, "index is");
}

static void* fail_elsewhere(void* as_expected) {
  const int was_empty = lookback_last_error()[0] == '\0';
  lookback_set_target("elsewhere");
  *(int*)as_expected = was_empty && strstr(lookback_last_error(), "elsewhere") != NULL;
  return NULL;
}

/* Each thread has its own message, which stays until a call of its own fails. */
static void test_messages(void) {
  pthread_t thread;
  int as_expected = 0;
  CHECK_ERROR(lookback_set_target("here"), LOOKBACK_UNSUPPORTED_TARGET, "'here'");
  CHECK(pthread_create(&thread, NULL, fail_elsewhere, &as_expected) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(as_expected);
  problem p = make_problem(1, 1, 1, 2, 2, 2, 2);
  CHECK_OK(attend(&p));
  CHECK(strstr(lookback_last_error(), "'here'") != NULL);
  free_problem(&p);

  /* A sentence too long to keep is cut. */
  char name[5000];
  memset(name, 'x', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  CHECK_ERROR(lookback_set_target(name), LOOKBACK_UNSUPPORTED_TARGET, "xxxx");
  CHECK(strlen(lookback_last_error()) < sizeof name);
}

static void test_constants(void) {
  int64_t key_block = 0, chunk = 0;
  lookback_block_sizes(&key_block, &chunk);
  CHECK(key_block > 0 && chunk >= key_block && chunk % key_block == 0);
  lookback_block_sizes(NULL, NULL);
  CHECK(strcmp(lookback_version(), LOOKBACK_TEST_VERSION) == 0);
}

void test_calls(void) {
  test_progress();
  test_threads();
  test_targets();
  test_target_sizes();
  test_messages();
  test_constants();
}
