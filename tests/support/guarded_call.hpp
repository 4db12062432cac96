// A call of which every array, list and output stands between forbidden pages.
#pragma once

#include <memory>

#include "support/any_problem.hpp"
#include "support/guard.hpp"

namespace lookback::test {

class GuardedCall {
 public:
  using Edge = Guarded<std::byte>::Edge;

  GuardedCall(const AnyProblem& p, Edge edge)
      : p_(p), edge_(edge), options_(p.options()), results_(p.empty_results()) {
    q_ = moved(p.q);
    k_ = moved(p.k);
    v_ = moved(p.v);
    if (p.bias) options_.bias = moved(*p.bias);
    if (p.mask) options_.mask = moved(*p.mask);
    if (p.blocks) options_.blocks->visible = moved(*p.blocks);
    if (p.alibi) options_.alibi = moved(*p.alibi);
    if (p.sinks) options_.sinks = moved(*p.sinks);
    if (p.lengths) options_.lengths = moved(*p.lengths);
    if (p.query_documents) options_.documents->queries = moved(*p.query_documents);
    if (p.key_documents) options_.documents->keys = moved(*p.key_documents);
    if (p.anchor == Position::Anchor::per_sequence)
      options_.position = Position::per_sequence(moved(p.offsets));
    if (p.q_bounds) options_.q_bounds = moved(*p.q_bounds);
    if (p.k_bounds) options_.k_bounds = moved(*p.k_bounds);
  }

  Results run(int threads) {
    options_.threads = threads;
    std::byte *out = memory(results_.out.bytes()), *lse = memory(results_.lse.bytes());
    Outputs outputs(output(results_.out, out));
    if (p_.with_lse) outputs.lse = output(results_.lse, lse);
    attend(q_, k_, v_, outputs, options_);
    const auto copy = [](const std::byte* from, auto&& to) {
      if (!to.empty()) std::memcpy(to.data(), from, to.size());
    };
    copy(out, results_.out.bytes());
    copy(lse, results_.lse.bytes());
    return results_;
  }

 private:
  std::byte* memory(const std::vector<std::byte>& bytes) {
    memory_.push_back(std::make_unique<Guarded<std::byte>>(bytes.size(), edge_));
    if (!bytes.empty()) std::memcpy(memory_.back()->data(), bytes.data(), bytes.size());
    return memory_.back()->data();
  }
  Tensor moved(const AnyArray& a) { return a.at_address(memory(a.bytes())); }
  template <class T>
  std::span<const T> moved(const std::vector<T>& list) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(list));
    const std::byte* copy = memory({bytes.begin(), bytes.end()});
    return {reinterpret_cast<const T*>(copy), list.size()};
  }
  static OutputTensor output(const AnyArray& like, std::byte* at) {
    const Tensor t = like.at_address(at);
    return {const_cast<void*>(t.data), t.type, t.extent, t.stride};
  }

  const AnyProblem& p_;
  Edge edge_;
  Options options_;
  Results results_;
  Tensor q_, k_, v_;
  std::vector<std::unique_ptr<Guarded<std::byte>>> memory_;
};

}  // namespace lookback::test
