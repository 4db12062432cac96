#include "problem.hpp"

#include <algorithm>
#include <stdexcept>

#include "buffer.hpp"
#include "clock.hpp"

namespace lookback::bench {
namespace {

// Less stays in the cores' own caches, and has too few pages to share out among threads.
constexpr double kLongPastBytes = 8 << 20;

std::int64_t kv_heads(const Shape& shape) {
  return shape.kv_heads ? shape.kv_heads : shape.heads;
}

std::int64_t offset(const Shape& shape) {
  return shape.n_k - shape.n_q;
}

// In floating point: what a user types may not fit 64 bits.
template <class... Factors>
double product(Factors... factors) {
  return (static_cast<double>(factors) * ...);
}

double visible_pairs_per_head(const Shape& shape) {
  if (!shape.causal) return product(shape.n_q, shape.n_k);
  double pairs = 0;
  for (std::int64_t i = 0; i < shape.n_q; ++i) {
    pairs += static_cast<double>(std::max<std::int64_t>(0, i + offset(shape) + 1));
  }
  return pairs;
}

}  // namespace

bool is_decode(const Shape& shape) {
  return shape.n_q <= 16 && bytes_to_read(shape) >= kLongPastBytes;
}

std::string name_of(const Shape& shape) {
  std::string name = lookback::name_of(shape.type);
  const auto add = [&](const char* what, std::int64_t value) {
    name += std::string("/") + what + ":" + std::to_string(value);
  };
  if (shape.batch != 1) add("B", shape.batch);
  if (shape.heads != 1) add("H", shape.heads);
  if (kv_heads(shape) != shape.heads) add("H_kv", kv_heads(shape));
  if (shape.n_q == shape.n_k) {
    add("n", shape.n_k);
  } else {
    add("n_q", shape.n_q);
    add("n_k", shape.n_k);
  }
  add("d", shape.d);
  return shape.causal ? name + "/causal" : name;
}

double useful_flops(const Shape& shape) {
  return 4.0 * product(shape.batch, shape.heads, shape.d) * visible_pairs_per_head(shape);
}

double bytes_to_read(const Shape& shape) {
  return 2.0 * product(shape.batch, kv_heads(shape), shape.n_k, shape.d, size_of(shape.type));
}

Problem::Problem(const Shape& shape, int threads) : shape_(shape) {
  const double rows_bytes =
      2.0 * product(shape.batch, shape.heads, shape.n_q, shape.d, size_of(shape.type));
  if (bytes_to_read(shape) + rows_bytes > 0x1p40) {
    throw std::length_error(name_of(shape) + " takes more than 1 TiB");
  }
  options_.threads = threads;
  options_.causal = shape.causal;
  if (shape.causal) options_.position = Position::bottom_right();
  if (shape.type == Type::float64) {
    make_arrays<double>();
  } else if (shape.type == Type::bfloat16) {
    make_arrays<bfloat16>();
  } else if (shape.type == Type::float16) {
    make_arrays<float16>();
  } else {
    make_arrays<float>();
  }
}

template <class T>
void Problem::make_arrays() {
  const std::int64_t B = shape_.batch, H = shape_.heads, H_kv = kv_heads(shape_);
  const std::int64_t n_q = shape_.n_q, n_k = shape_.n_k, d = shape_.d;
  const std::int64_t rows_size = B * H * n_q * d, keys_size = B * H_kv * n_k * d;
  struct Arrays {
    Buffer<T> q, kv, out;
  };
  const auto arrays = std::make_shared<const Arrays>(
      Arrays{Buffer<T>(rows_size, 1), Buffer<T>(2 * keys_size, 2), Buffer<T>(rows_size)});
  arrays_ = arrays;

  const T* const k = arrays->kv.data();
  q_ = heads_first<const T>(arrays->q.data(), B, H, n_q, d);
  k_ = heads_first<const T>(k, B, H_kv, n_k, d);
  v_ = heads_first<const T>(k + keys_size, B, H_kv, n_k, d);
  out_ = heads_first<T>(arrays->out.data(), B, H, n_q, d);
}

Turn attend_turn(const Problem& problem) {
  const auto seconds = [problem](std::int64_t calls) {
    const double begin = now_seconds();
    for (std::int64_t call = 0; call < calls; ++call) problem.attend();
    return now_seconds() - begin;
  };
  const std::int64_t calls = repetitions_for(kTurnSeconds, seconds);
  return [=] { return static_cast<double>(calls) / seconds(calls); };
}

}  // namespace lookback::bench
