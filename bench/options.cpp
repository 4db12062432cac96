// What options cost: each against the plain call beside it, in alternate turns of one run.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <lookback/lookback.hpp>
#include <string>
#include <utility>
#include <vector>

#include "buffer.hpp"

namespace {

using namespace lookback;
using bench::Buffer;

constexpr int kTurns = 15;
constexpr std::int64_t n = 2048, d = 64, heads = 8;

double seconds_of(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Median of option / plain over pairs of turns, printed beside the most it may be.
void compare(const char* name, double most, const std::function<void()>& plain,
             const std::function<void()>& option) {
  std::vector<double> ratios;
  plain();
  option();
  for (int turn = 0; turn < kTurns; ++turn) {
    const double before = seconds_of(plain), ours = seconds_of(option), after = seconds_of(plain);
    ratios.push_back(ours / ((before + after) / 2));
  }
  std::sort(ratios.begin(), ratios.end());
  std::printf("%-34s %6.3f  (%.3f to %.3f)   at most %.2f\n", name, ratios[kTurns / 2], ratios[1],
              ratios[kTurns - 2], most);
  std::fflush(stdout);
}

/// One head of n rows, and what plain and option are called with.
struct Arrays {
  Buffer<float> q, k, v, out;
  explicit Arrays(std::int64_t rows, std::int64_t of_heads = 1)
      : q(of_heads * rows * d, 1),
        k(of_heads * rows * d, 2),
        v(of_heads * rows * d, 3),
        out(of_heads * rows * d, 4) {}

  void attend(const Options& options, std::int64_t rows) const {
    lookback::attend(matrix(q.data(), rows, d), matrix(k.data(), rows, d),
                     matrix(v.data(), rows, d), matrix(out.data(), rows, d), options);
  }
};

void compare_terms(const Arrays& a, const Options& plain) {
  const auto with = [&](const char* name, double most, const Options& options) {
    compare(
        name, most, [&] { a.attend(plain, n); }, [&] { a.attend(options, n); });
  };
  const Buffer<float> bias(n * n);
  Options options = plain;
  options.bias = matrix(static_cast<const float*>(bias.data()), n, n);
  with("dense bias, float32", 1.25, options);

  std::vector<std::uint8_t> visible(static_cast<std::size_t>(n * n));
  std::uint32_t seed = 7;
  for (auto& x : visible) x = ((seed = seed * 1664525u + 1013904223u) >> 28) != 0;
  options = plain;
  options.mask = Tensor{visible.data(), Type::boolean, {1, 1, n, n}, {0, 0, n, 1}};
  with("boolean mask, random", 1.15, options);

  options = plain;
  options.softcap = 30;
  with("softcap", 1.35, options);
  options = plain;
  options.causal = true;
  with("causal", 0.60, options);
  AddConstant constant{0.5f};
  options = plain;
  options.hook = ScoreHook{AddConstant::hook, &constant};
  with("hook that adds a constant", 1.15, options);
}

void compare_window(const Options& plain) {
  const std::int64_t rows = 8192;
  const Arrays a(rows);
  Options options = plain;
  options.window = Window{.left = 511, .right = 0};
  compare(
      "window of 512 at n = 8192", 0.10, [&] { a.attend(plain, rows); },
      [&] { a.attend(options, rows); });
}

void compare_storage(const Arrays& a, const Options& plain) {
  const Buffer<bfloat16> q(n * d, 1), k(n * d, 2), v(n * d, 3), out(n * d);
  compare(
      "bfloat16 storage", 1.10, [&] { a.attend(plain, n); },
      [&] {
        attend(matrix(q.data(), n, d), matrix(k.data(), n, d), matrix(v.data(), n, d),
               matrix(out.data(), n, d), plain);
      });
}

void compare_layouts(const Options& plain) {
  const Arrays a(n, heads);
  const auto heads_first_call = [&] {
    attend(heads_first(a.q.data(), 1, heads, n, d), heads_first(a.k.data(), 1, heads, n, d),
           heads_first(a.v.data(), 1, heads, n, d), heads_first(a.out.data(), 1, heads, n, d),
           plain);
  };
  compare("positions first, 8 heads", 1.05, heads_first_call, [&] {
    attend(positions_first(a.q.data(), 1, n, heads, d), positions_first(a.k.data(), 1, n, heads, d),
           positions_first(a.v.data(), 1, n, heads, d),
           positions_first(a.out.data(), 1, n, heads, d), plain);
  });
  compare("grouped heads, 8 to 1", 1.00, heads_first_call, [&] {
    attend(heads_first(a.q.data(), 1, heads, n, d), heads_first(a.k.data(), 1, 1, n, d),
           heads_first(a.v.data(), 1, 1, n, d), heads_first(a.out.data(), 1, heads, n, d), plain);
  });
}

}  // namespace

int main(int argc, char** argv) {
  Options plain;
  plain.threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  std::printf(
      "time of a call with the option / of the plain call; n = %d, d = %d, %s, threads: %d; "
      "median of %d (spread)\n",
      static_cast<int>(n), static_cast<int>(d), active_target().c_str(), *plain.threads, kTurns);
  const Arrays arrays(n);
  compare_terms(arrays, plain);
  compare_window(plain);
  compare_storage(arrays, plain);
  compare_layouts(plain);
}
