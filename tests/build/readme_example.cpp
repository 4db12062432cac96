#include <lookback/lookback.hpp>

#include <cstdio>
#include <vector>

int main() {
  const int n = 1000, d = 64;  // one head: n queries, keys and values of d features
  std::vector<float> q(n * d, 0.1f), k(n * d, 0.2f), v(n * d, 0.5f), out(n * d);
  lookback::attend(lookback::matrix(q.data(), n, d), lookback::matrix(k.data(), n, d),
                   lookback::matrix(v.data(), n, d), lookback::matrix(out.data(), n, d),
                   {.causal = true});
  std::printf("%g\n", out[0]);  // every value is 0.5, so every blend of them is
}
