// One attention problem: its shape, its arrays, and what it costs at the least.
#pragma once

#include <cstdint>
#include <lookback/lookback.hpp>
#include <memory>
#include <string>

#include "roofs.hpp"

namespace lookback::bench {

struct Shape {
  Type type = Type::float32;  // of all arrays
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  std::int64_t n_q = 0;
  std::int64_t n_k = 0;
  std::int64_t d = 0;   // of q, k and v
  bool causal = false;  // the last query stands at the last key
};

/// Few query rows against a long past: bound by reading K and V.
bool is_decode(const Shape& shape);

/// "float32/n:2048/d:128/causal"; batch and heads where they are not 1.
std::string name_of(const Shape& shape);

/// 2 (d + d_v) per visible pair: the multiplies and adds of scores and blend, nothing else.
double useful_flops(const Shape& shape);

/// K and V, once.
double bytes_to_read(const Shape& shape);

/// Random arrays of the shape, contiguous [B, H, n, d].
class Problem {
 public:
  Problem(const Shape& shape, int threads);

  const Shape& shape() const { return shape_; }
  int threads() const { return *options_.threads; }
  /// V follows K in memory, so that both are read as one array of bytes_to_read(shape()).
  const void* keys_and_values() const { return k_.data; }

  void attend() const { lookback::attend(q_, k_, v_, out_, options_); }

 private:
  template <class T>
  void make_arrays();

  Shape shape_;
  Options options_;
  std::shared_ptr<const void> arrays_;  // what the views below look at
  Tensor q_, k_, v_;
  OutputTensor out_;
};

/// Calls per second. At least one call per turn, however long it takes.
Turn attend_turn(const Problem& problem);

}  // namespace lookback::bench
