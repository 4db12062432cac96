// Runs a problem through every path that the library has: many rows, few rows, either split over
// key chunks, each instruction set, one thread and two, each storage type that holds its numbers.
#pragma once

#include <optional>
#include <vector>

#include "support/across_chunks.hpp"
#include "support/paths.hpp"
#include "support/problem.hpp"
#include "support/stored_array.hpp"
#include "support/targets.hpp"

namespace lookback::test {

/// run(target, threads) with every path forced on every target.
template <class F>
void for_every_path(F run) {
  for (const Target& target : supported_targets()) {
    const TargetScope target_scope(target.name);
    for (const Path path : kPaths) {
      const PathScope path_scope(path);
      for (const int threads : {1, 2}) {
        INFO("target " << target.name << ", path " << name_of(path) << ", threads " << threads);
        run(target, threads);
      }
    }
  }
}

/// Keeps the first result of the targets that promise the same bits; names what differs from it.
template <class Kept>
class SameBits {
 public:
  template <class Compare>
  std::string difference(const Target& target, const Kept& result, Compare compare) {
    if (!target.same_bits) return "";
    if (first_) return compare(result, *first_);
    first_ = result;
    return "";
  }

 private:
  std::optional<Kept> first_;
};

/// The inputs in 16-bit storage, where that holds them exactly: the results must be the same bits.
template <class T>
class NarrowInputs {
 public:
  static std::vector<NarrowInputs> of(const Problem<T>& p) {
    std::vector<NarrowInputs> all;
    for (const Type type : {Type::bfloat16, Type::float16})
      if (sizeof(T) == sizeof(float) && holds(type, p.q.view()) && holds(type, p.k.view()) &&
          holds(type, p.v.view()))
        all.push_back(NarrowInputs(p, type));
    return all;
  }

  const char* name() const { return name_of(k_.type()); }
  /// k and v in 16 bits, and q too if asked: the types may be mixed.
  Result<T> run(const Problem<T>& p, int threads, bool narrow_q) const {
    Options options = p.options;
    options.threads = threads;
    Result<T> r{Array<T>({p.q.extent(0), p.q.extent(1), p.q.extent(2), p.v.extent(3)}),
                Array<T>({p.q.extent(0), p.q.extent(1), p.q.extent(2), 1})};
    attend(narrow_q ? q_.view() : p.q.view(), k_.view(), v_.view(),
           {r.out.output(), r.lse.output()}, options);
    return r;
  }

 private:
  NarrowInputs(const Problem<T>& p, Type type)
      : q_(stored_as(type, p.q.view())),
        k_(stored_as(type, p.k.view())),
        v_(stored_as(type, p.v.view())) {}
  StoredArray q_, k_, v_;
};

/// check(result) for every path as the problem stands; all the same bits.
template <class T, class F>
void through_paths_in_place(const Problem<T>& p, F check) {
  const auto compare = [](const auto& a, const auto& b) { return bit_difference(a, b); };
  const auto narrow = NarrowInputs<T>::of(p);
  SameBits<Result<T>> bits;
  for_every_path([&](const Target& target, int threads) {
    const Result<T> result = p.run_on_threads(threads);
    check(result);
    CHECK(bits.difference(target, result, compare) == "");
    for (const auto& inputs : narrow) {
      INFO("storage " << inputs.name());
      CHECK(bit_difference(inputs.run(p, threads, threads == 1), result) == "");
    }
  });
}

/// check(result) for every path, as the problem stands and moved along so that its keys cross the
/// boundary of a chunk, where every answer is the same up to rounding.
template <class T, class F>
void through_every_path(const Problem<T>& p, F check) {
  through_paths_in_place(p, check);
  if (p.options.q_bounds || p.k.extent(2) == 0) return;
  INFO("moved along to the boundary of a chunk");
  const auto across = across_chunks(p);
  through_paths_in_place(across.problem, check);
}

/// The number with the seven digits that the case list carries.
inline bool near(Real actual, Real expected) {
  return close(actual, expected, 2e-6L * (1 + std::fabs(expected)));
}

}  // namespace lookback::test
