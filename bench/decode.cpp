// One query row per head against a long past: bound by reading K and V. The longest takes 2 GiB.
#include "families.hpp"

namespace lookback::bench {

void register_decode() {
  for (const Type type : {Type::float32, Type::bfloat16, Type::float16}) {
    for (const std::int64_t n_k : {4096, 16384, 65536}) {
      register_shape("decode", {.type = type, .heads = 32, .n_q = 1, .n_k = n_k, .d = 128});
    }
  }
}

}  // namespace lookback::bench
