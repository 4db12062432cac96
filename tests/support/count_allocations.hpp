// Counts what the process allocates. Defines malloc and its like, so at most one file of a program
// includes it. Nothing is counted beside a sanitizer's own allocator, or without glibc.
#pragma once

#include <atomic>
#include <cstdlib>

namespace lookback::test {

#if LOOKBACK_TEST_SANITIZED || !defined(__GLIBC__)
inline constexpr bool kCountsAllocations = false;
#else
inline constexpr bool kCountsAllocations = true;
#endif

/// Bytes ever asked for.
inline std::atomic<std::size_t> allocated_bytes{0};

}  // namespace lookback::test

#if !LOOKBACK_TEST_SANITIZED && defined(__GLIBC__)

// The C library's own functions under other names, so that these can stand in front of them.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) {
  lookback::test::allocated_bytes += bytes;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  lookback::test::allocated_bytes += count * bytes;
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  lookback::test::allocated_bytes += bytes;
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  lookback::test::allocated_bytes += bytes;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  lookback::test::allocated_bytes += bytes;
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : 12;
}
}

#endif
