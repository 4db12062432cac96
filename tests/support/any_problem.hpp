// One attention problem with any storage types, strides and options, and how to run it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lookback/lookback.hpp"
#include "support/any_array.hpp"

namespace lookback::test {

/// Score hooks whose answer depends on where a score stands and on nothing else.
struct TestHook {
  enum class Kind {
    add_noise,  // a multiple of 1/16 in [-2, 2), from sequence, head, row and key
    hide_some,  // -inf for a third of the keys, else nothing
    halve,
    add_distance,  // (key - position) / 16
    overwrite      // -inf for a third of the keys, else add_noise in place of the score
  };
  Kind kind;
  /// Where the rows and keys of a call stand in the whole problem, if it is a part of one.
  std::int64_t first_row = 0, first_key = 0, first_head = 0, first_sequence = 0;

  struct Place {
    std::int64_t sequence, head, row, position, key;
  };
  template <class T>
  T changed(T score, const Place& at) const;
  static void hook(const lookback_score_tile* tile, void* user);
};

struct Results {
  AnyArray out, lse;
};

struct AnyProblem {
  AnyArray q, k, v;
  Type out_type = Type::float32;
  Strides out_stride{}, lse_stride{};
  bool with_lse = true;

  std::optional<double> scale;
  double temperature = 1;
  std::optional<double> softcap;
  std::optional<std::vector<double>> alibi, sinks;
  std::optional<AnyArray> bias;
  std::optional<TestHook> hook;

  bool causal = false;
  std::optional<Window> window;
  std::optional<std::int64_t> prefix;
  std::optional<Position::Anchor> anchor;
  std::int64_t one_offset = 0;
  std::vector<std::int64_t> offsets;
  std::optional<std::vector<std::int64_t>> lengths, query_documents, key_documents;
  std::optional<AnyArray> blocks;
  std::int64_t block_rows = 1, block_keys = 1;
  std::optional<AnyArray> mask;
  std::optional<std::vector<std::int64_t>> q_bounds, k_bounds;

  /// q, k and v of these types, compact, to be filled; outputs compact, float32 or float64.
  AnyProblem() = default;
  AnyProblem(Type type, std::int64_t B, std::int64_t H, std::int64_t H_kv, std::int64_t n_q,
             std::int64_t n_k, std::int64_t d, std::int64_t d_v);

  std::int64_t H() const { return q.extent(1); }
  std::int64_t d_v() const { return v.extent(3); }
  Type compute_type() const { return q.type() == Type::float64 ? Type::float64 : Type::float32; }

  /// The options point into this problem.
  Options options() const;
  Position position() const;

  /// The outputs start as NaN, in all of their storage.
  Results run(std::optional<int> threads = {}) const;
  Results run_with(const Options& options) const;
  Results empty_results() const;

  std::string text() const;

  /// One sequence: where its tokens are, and what stands where.
  struct Sequence {
    std::int64_t index, batch, first_q, n_q, first_k, n_k, length, offset;
  };
  std::int64_t sequences() const;
  Sequence sequence(std::int64_t s) const;
  std::int64_t kv_head(std::int64_t h) const { return h / (H() / k.extent(1)); }
  double slope(std::int64_t s, std::int64_t h) const { return per_head(*alibi, s, h); }
  double sink(std::int64_t s, std::int64_t h) const;
  double bias_at(std::int64_t batch, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return broadcast(*bias, batch, h, i, j);
  }
  TestHook::Place hook_place(const Sequence& s, std::int64_t h, std::int64_t i,
                             std::int64_t j) const;

  /// Visible by causal, window, prefix, lengths, documents, blocks and mask.
  bool sees(const Sequence& s, std::int64_t h, std::int64_t i, std::int64_t j) const;
  /// And not hidden by a score of -inf from the bias or the hook.
  bool counts(const Sequence& s, std::int64_t h, std::int64_t i, std::int64_t j) const;

 private:
  double per_head(const std::vector<double>& values, std::int64_t s, std::int64_t h) const;
  bool same_document(const Sequence& s, std::int64_t i, std::int64_t j) const;
  static double broadcast(const AnyArray& a, std::int64_t b, std::int64_t h, std::int64_t i,
                          std::int64_t j);
};

std::string bit_difference(const Results& actual, const Results& expected);

template <class T>
T TestHook::changed(T score, const Place& at) const {
  const std::uint64_t mixed =
      (static_cast<std::uint64_t>(at.sequence + first_sequence) * 0x9E3779B97F4A7C15u) ^
      (static_cast<std::uint64_t>(at.head + first_head) * 0xBF58476D1CE4E5B9u) ^
      (static_cast<std::uint64_t>(at.row + first_row) * 0x94D049BB133111EBu) ^
      (static_cast<std::uint64_t>(at.key + first_key) * 0xD6E8FEB86659FD93u);
  const auto drawn = static_cast<int>((mixed ^ (mixed >> 29)) * 0xD6E8FEB86659FD93u >> 40);
  const T noise = static_cast<T>(drawn % 64 - 32) / 16;
  const bool hides = drawn / 64 % 3 == 0;
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  switch (kind) {
    case Kind::add_noise:
      return score + noise;
    case Kind::hide_some:
      return hides ? kHidden : score;
    case Kind::halve:
      return score / 2;
    case Kind::add_distance:
      return score + static_cast<T>(at.key - at.position) / 16;
    case Kind::overwrite:
      break;
  }
  return hides ? kHidden : noise;
}

}  // namespace lookback::test
