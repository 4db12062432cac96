// Many query rows: bound by arithmetic.
#include "families.hpp"

namespace lookback::bench {

void register_prefill() {
  for (const std::int64_t n : {512, 2048, 8192}) {
    for (const std::int64_t d : {64, 128}) {
      register_shape("prefill", {.n_q = n, .n_k = n, .d = d});
      register_shape("prefill", {.n_q = n, .n_k = n, .d = d, .causal = true});
    }
  }
  register_shape("prefill", {.type = Type::float64, .n_q = 2048, .n_k = 2048, .d = 64});
}

}  // namespace lookback::bench
