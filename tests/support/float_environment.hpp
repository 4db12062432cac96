// Floating-point modes that a caller may have set.
#pragma once

#include <cfenv>
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace lookback::test {

/// The control word: rounding, flushing of subnormals and, on x86, which exceptions trap.
inline std::uint64_t control_word() {
#if defined(__x86_64__)
  return _mm_getcsr() & ~0x3Fu;  // without the sticky flags
#elif defined(__aarch64__)
  std::uint64_t word = 0;
  asm volatile("mrs %0, fpcr" : "=r"(word));
  return word;
#endif
}

inline void set_control_word(std::uint64_t word) {
#if defined(__x86_64__)
  _mm_setcsr(static_cast<unsigned>(word));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(word));
#endif
}

/// Subnormal results and, where the machine knows it, subnormal operands become zero.
inline void flush_subnormals() {
#if defined(__x86_64__)
  set_control_word(control_word() | 0x8040u);
#elif defined(__aarch64__)
  set_control_word(control_word() | (std::uint64_t{1} << 24));
#endif
}

/// Puts everything back.
class FloatEnvironmentScope {
 public:
  FloatEnvironmentScope() { std::fegetenv(&saved_); }
  ~FloatEnvironmentScope() { std::fesetenv(&saved_); }
  FloatEnvironmentScope(const FloatEnvironmentScope&) = delete;
  FloatEnvironmentScope& operator=(const FloatEnvironmentScope&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace lookback::test
