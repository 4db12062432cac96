// A thread that has called once has its scratch: later calls allocate next to nothing. Counts
// every allocation of the process, so it does not run beside a sanitizer's own allocator.
#include <atomic>
#include <cstdlib>
#include <new>

#include "catch.hpp"
#include "support/problem.hpp"

using namespace lookback::test;

#if LOOKBACK_TEST_SANITIZED || !defined(__GLIBC__)

TEST_CASE("allocations: a second call on a thread allocates nothing big") {
  skipped("allocations are counted only with the plain allocator of glibc");
}

#else

namespace {

std::atomic<std::size_t> allocated{0};

}  // namespace

// The C library's own functions under other names, so that these can stand in front of them.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) {
  allocated += bytes;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  allocated += count * bytes;
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  allocated += bytes;
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  allocated += bytes;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  allocated += bytes;
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : 12;
}
}

namespace {

/// Bytes that a call allocates when it is not the first of its kind.
template <class T>
std::size_t bytes_of_second_call(const Shape& shape, int threads) {
  const auto p = random_problem<T>(shape, test_seed());
  Result<T> r{Array<T>({shape.B, shape.H, shape.n_q, shape.d_v}),
              Array<T>({shape.B, shape.H, shape.n_q, 1})};
  lookback::Options options;
  options.threads = threads;
  const auto call = [&] {
    attend(p.q.view(), p.k.view(), p.v.view(), {r.out.output(), r.lse.output()}, options);
  };
  // Several, so that every worker has taken part.
  for (int turn = 0; turn < 20; ++turn) call();
  const std::size_t before = allocated;
  call();
  return allocated - before;
}

}  // namespace

TEST_CASE("allocations: they are counted") {
  const std::size_t before = allocated;
  const std::vector<char> memory(100000);
  CHECK(allocated - before >= memory.size());
}

TEMPLATE_TEST_CASE("allocations: a second call on a thread allocates nothing big", "", float,
                   double) {
  constexpr std::size_t kBig = 16 * 1024;
  // Copying the keys of any of these would take more than ten times as much.
  CHECK(bytes_of_second_call<TestType>({.n_q = 300, .n_k = 900, .d = 64, .d_v = 64}, 1) < kBig);
  CHECK(bytes_of_second_call<TestType>({.n_q = 300, .n_k = 900, .d = 64, .d_v = 64}, 2) < kBig);
  CHECK(bytes_of_second_call<TestType>({.n_q = 2, .n_k = 900, .d = 64, .d_v = 64}, 1) < kBig);
  CHECK(bytes_of_second_call<TestType>(
            {.n_q = 30, .n_k = 700, .d = 33, .d_v = 65, .B = 2, .H = 4, .H_kv = 2}, 1) < kBig);
}

TEST_CASE("allocations: splitting a row over chunks takes partial results only") {
  // 64 chunks of 66 numbers are 17 KB; the keys alone are 8 MB.
  CHECK(bytes_of_second_call<float>({.n_q = 1, .n_k = 32768, .d = 64, .d_v = 64}, 2) <
        2 * 512 * 1024);
}

#endif
