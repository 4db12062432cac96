// Memory between pages that may not be touched: a read or write past either end is a crash.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace lookback::test {

/// count elements that end exactly at a forbidden page, or start right after one.
template <class T>
class Guarded {
 public:
  enum class Edge { front, back };

  Guarded(std::size_t count, Edge edge) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    const std::size_t bytes = count * sizeof(T);
    const std::size_t inner = (bytes + page_ - 1) / page_ * page_;
    size_ = inner + 2 * page_;
    void* whole = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (whole == MAP_FAILED) throw std::bad_alloc();
    whole_ = static_cast<std::byte*>(whole);
    std::byte* first = whole_ + page_;
    if (inner != 0 && mprotect(first, inner, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    data_ = reinterpret_cast<T*>(edge == Edge::front ? first : first + inner - bytes);
  }
  ~Guarded() { munmap(whole_, size_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  T* data() { return data_; }
  const std::byte* page_before() const { return whole_; }
  const std::byte* page_after() const { return whole_ + size_ - page_; }

 private:
  std::size_t page_, size_ = 0;
  std::byte* whole_ = nullptr;
  T* data_ = nullptr;
};

}  // namespace lookback::test
