// The loops of peak_loops.hpp, written once over a description of the instruction set:
//
//   struct Isa {
//     vector_bytes
//     accumulators              independent chains: at least FMA latency x FMA ports, all in
//     registers tile_keys, tile_vectors   a register tile for as many registers: keys are broadcast
//   };
//
// Each Isa lives in the unnamed namespace of its file, so files that are compiled with different
// flags share no instantiation.
#pragma once

#include <cstdint>
#include <utility>

#include "peak_loops.hpp"

namespace lookback::bench {

template <class Isa, class T>
struct Lanes {
  typedef T Vector __attribute__((vector_size(Isa::vector_bytes), may_alias));
  static constexpr int count = Isa::vector_bytes / static_cast<int>(sizeof(T));

  static Vector broadcast(T value) {
    return [=]<int... L>(std::integer_sequence<int, L...>) {
      return Vector{(static_cast<void>(L), value)...};
    }
    (std::make_integer_sequence<int, count>());
  }
};

// The value is in a register here, and the compiler knows nothing about it afterwards.
template <class Vector>
inline __attribute__((always_inline)) void keep(Vector& value) {
#if defined(__aarch64__)
  asm volatile("" : "+w"(value));
#else
  asm volatile("" : "+v"(value));
#endif
}

template <class Isa, class T>
struct FromRegisters {
  static constexpr double flops_per_step = 2.0 * Isa::accumulators * Lanes<Isa, T>::count;

  static void run(std::int64_t steps) {
    run(steps, std::make_integer_sequence<int, Isa::accumulators>());
  }

 private:
  template <int... I>
  static void run(std::int64_t steps, std::integer_sequence<int, I...>) {
    using V = Lanes<Isa, T>;
    // Converges to 1, so that no value overflows or becomes subnormal.
    typename V::Vector factor = V::broadcast(T(0.75)), addend = V::broadcast(T(0.25));
    typename V::Vector sum[] = {V::broadcast(T(I))...};
    keep(factor);
    keep(addend);
    for (std::int64_t step = 0; step < steps; ++step) {
      ((sum[I] = sum[I] * factor + addend), ...);
    }
    (keep(sum[I]), ...);
  }
};

/// One step is one sweep over all features of a tile of keys x query vectors.
template <class Isa, class T>
struct FromL1 {
  static constexpr int keys = Isa::tile_keys, vectors = Isa::tile_vectors;
  static constexpr int lanes = Lanes<Isa, T>::count;
  // With 64 features of float32 the queries take 12 KiB and the keys 2 KiB at the widest: well
  // inside any L1.
  static constexpr int features = 256 / static_cast<int>(sizeof(T));
  static constexpr double flops_per_step = 2.0 * keys * vectors * lanes * features;

  static void run(std::int64_t steps) {
    alignas(64) T query[features * vectors * lanes];
    alignas(64) T key[keys * features];
    for (T& x : query) x = T(0.5);
    for (T& x : key) x = T(0.25);
    asm volatile("" : : "r"(query), "r"(key) : "memory");  // what they hold is no longer known
    for (std::int64_t step = 0; step < steps; ++step) {
      sweep(query, key, std::make_integer_sequence<int, keys * vectors>());
    }
  }

 private:
  using V = Lanes<Isa, T>;
  using Vector = typename V::Vector;

  template <int... I>
  static __attribute__((always_inline)) void sweep(const T* query, const T* key,
                                                   std::integer_sequence<int, I...>) {
    Vector sum[keys * vectors] = {};
    for (int f = 0; f < features; ++f) {
      Vector q[vectors];
      for (int v = 0; v < vectors; ++v) {
        q[v] = *reinterpret_cast<const Vector*>(query + (f * vectors + v) * lanes);
        keep(q[v]);  // one load for all keys, not one folded into each multiply-add
      }
      multiply_add(sum, q, key + f, std::make_integer_sequence<int, keys>());
    }
    (keep(sum[I]), ...);
  }

  template <int... K>
  static __attribute__((always_inline)) void multiply_add(Vector* sum, const Vector* q,
                                                          const T* key,
                                                          std::integer_sequence<int, K...>) {
    (row(sum + K * vectors, q, V::broadcast(key[K * features]),
         std::make_integer_sequence<int, vectors>()),
     ...);
  }

  template <int... N>
  static __attribute__((always_inline)) void row(Vector* sum, const Vector* q, Vector k,
                                                 std::integer_sequence<int, N...>) {
    keep(k);
    ((sum[N] = q[N] * k + sum[N]), ...);
  }
};

template <class Isa>
void read_cache(const void* data, std::int64_t bytes, std::int64_t passes) {
  using Vector = typename Lanes<Isa, std::int64_t>::Vector;
  constexpr int unroll = 8;
  static_assert(kReadGrain % (unroll * Isa::vector_bytes) == 0);
  const auto* begin = static_cast<const Vector*>(data);
  const auto* end = begin + bytes / Isa::vector_bytes;
  Vector sum[unroll] = {};
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    for (const auto* at = begin; at < end; at += unroll) {
      for (int u = 0; u < unroll; ++u) sum[u] ^= at[u];
    }
    for (Vector& s : sum) keep(s);
  }
}

// The hardware prefetchers work page by page, so that several streams keep more lines in flight
// than one, and the prefetch carries each across its page ends.
template <class Isa>
void read_memory(const void* data, std::int64_t bytes, std::int64_t passes) {
  using Vector = typename Lanes<Isa, std::int64_t>::Vector;
  constexpr int streams = 4, line = 64, ahead = 1024;
  static_assert(kReadGrain % (streams * line) == 0);
  const std::int64_t stream_bytes = bytes / streams;
  const auto* begin = static_cast<const char*>(data);
  Vector sum[streams] = {};
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    for (std::int64_t at = 0; at < stream_bytes; at += line) {
      for (int s = 0; s < streams; ++s) {
        const char* from = begin + s * stream_bytes + at;
        __builtin_prefetch(from + ahead);
        for (int part = 0; part < line; part += Isa::vector_bytes) {
          sum[s] ^= *reinterpret_cast<const Vector*>(from + part);
        }
      }
    }
    for (Vector& s : sum) keep(s);
  }
}

template <class Isa, class T>
constexpr FmaLoops fma_loops() {
  return {{FromRegisters<Isa, T>::run, FromRegisters<Isa, T>::flops_per_step},
          {FromL1<Isa, T>::run, FromL1<Isa, T>::flops_per_step}};
}

template <class Isa>
constexpr PeakLoops loops(std::string_view target) {
  return {target, fma_loops<Isa, float>(), fma_loops<Isa, double>(), read_cache<Isa>,
          read_memory<Isa>};
}

}  // namespace lookback::bench
