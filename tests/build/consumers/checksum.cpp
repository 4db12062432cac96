// checksum.c, through the C++ interface.
#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <lookback/lookback.hpp>
#include <vector>

namespace {

constexpr int B = 2, H = 4, H_kv = 2, n_q = 33, n_k = 700, d = 24, d_v = 20;

std::vector<float> numbers(std::size_t count, std::uint32_t seed) {
  std::vector<float> list(count);
  for (float& x : list) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(static_cast<std::int32_t>(seed >> 23) - 256) / 256;
  }
  return list;
}

std::uint64_t checksum(std::uint64_t sum, const std::vector<float>& list) {
  for (const float& x : list) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    sum = (sum ^ bits) * 1099511628211u;
  }
  return sum;
}

}  // namespace

int main() {
  const auto q = numbers(B * H * n_q * d, 1), k = numbers(B * H_kv * n_k * d, 2);
  const auto v = numbers(B * H_kv * n_k * d_v, 3);
  std::vector<float> out(B * H * n_q * d_v), lse(B * H * n_q);
  const std::array<double, H> slopes = {0.5, 0.25, 0.125, 0.0625};
  lookback::Options options;
  options.causal = true;
  options.position = lookback::Position::at(660);
  options.alibi = slopes;
  options.temperature = 0.75;
  try {
    lookback::attend(lookback::heads_first(q.data(), B, H, n_q, d),
                     lookback::heads_first(k.data(), B, H_kv, n_k, d),
                     lookback::heads_first(v.data(), B, H_kv, n_k, d_v),
                     {lookback::heads_first(out.data(), B, H, n_q, d_v),
                      lookback::per_row(lse.data(), B, H, n_q)},
                     options);
    // An exception must find its way out of a shared library too.
    options.temperature = 0;
    lookback::attend(lookback::matrix(q.data(), 1, d), lookback::matrix(k.data(), 1, d),
                     lookback::matrix(v.data(), 1, d), lookback::matrix(out.data(), 1, d), options);
    return 1;
  } catch (const lookback::Error& error) {
    if (error.code() != lookback::ErrorCode::invalid_argument) return 1;
  }
  std::printf("%016" PRIx64 "\n", checksum(checksum(14695981039346656037u, out), lse));
}
