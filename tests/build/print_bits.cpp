// Prints results as bit patterns. Built as it is and with -ffast-math, which may delete every test
// for NaN in this file and sets the machine to flush subnormals: the output must be the same.
#include <bit>
#include <cstdint>
#include <cstdio>
#include <lookback/lookback.hpp>
#include <vector>

namespace {

// From bits, because under -ffast-math a literal infinity means nothing.
const float kMinusInfinity = std::bit_cast<float>(0xFF800000u);

std::vector<float> numbers(std::size_t count, std::uint32_t seed) {
  std::vector<float> list(count);
  for (float& x : list) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(static_cast<std::int32_t>(seed >> 16) - 32768) / 16384;
  }
  return list;
}

void print(const char* name, const std::vector<float>& list) {
  std::printf("%s", name);
  for (const float x : list) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const bool nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
    std::printf(" %08x", static_cast<unsigned>(nan ? 0x7FC00000u : bits));
  }
  std::printf("\n");
}

void run(const char* name, const std::vector<float>& q, const std::vector<float>& k,
         const std::vector<float>& v, std::int64_t n_q, std::int64_t n_k, std::int64_t d,
         const lookback::Options& options) {
  const auto rows = static_cast<std::size_t>(n_q);
  const auto d_v = static_cast<std::int64_t>(v.size()) / n_k;
  std::vector<float> out(rows * static_cast<std::size_t>(d_v)), lse(rows);
  lookback::attend(
      lookback::matrix(q.data(), n_q, d), lookback::matrix(k.data(), n_k, d),
      lookback::matrix(v.data(), n_k, d_v),
      {lookback::matrix(out.data(), n_q, d_v), lookback::per_row(lse.data(), 1, 1, n_q)}, options);
  print(name, out);
  print("  lse", lse);
}

}  // namespace

int main() {
  lookback::Options plain, causal, unscaled;
  causal.causal = true;
  causal.position = lookback::Position::at(-2);
  causal.temperature = 0.3;
  unscaled.scale = 1;
  run("plain", numbers(9 * 7, 1), numbers(700 * 7, 2), numbers(700 * 3, 3), 9, 700, 7, plain);
  run("empty rows first", numbers(40 * 7, 1), numbers(50 * 7, 2), numbers(50 * 3, 3), 40, 50, 7,
      causal);
  // B01: the second of three rows sees nothing.
  auto q = numbers(3 * 2, 4), k = numbers(4 * 2, 5);
  for (std::size_t j = 0; j < 4; ++j) k[2 * j + 1] = 1;
  q[1] = q[5] = 0;
  q[3] = kMinusInfinity;
  run("B01", q, k, numbers(4 * 3, 6), 3, 4, 2, unscaled);
  // B10: the same with a NaN in the third.
  q[4] = std::bit_cast<float>(0x7FC00000u);
  run("B10", q, k, numbers(4 * 3, 6), 3, 4, 2, unscaled);
  // B15: odd keys far below, with huge values.
  std::vector<float> scores(256), values(256);
  for (std::size_t j = 0; j < 256; ++j) {
    scores[j] = j % 2 == 0 ? 0.f : -1000.f;
    values[j] = j % 2 == 0 ? 1.f : 1e38f;
  }
  run("B15", {1}, scores, values, 1, 256, 1, unscaled);
  // Subnormal values come through.
  run("subnormal", {1}, {0, -1}, {0x1p-130f, 0x1p-131f}, 1, 2, 1, unscaled);
}
