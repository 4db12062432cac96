// Many short sequences: bound by what is done once per task and per call.
#include "families.hpp"

namespace lookback::bench {

void register_short() {
  register_shape("short", {.batch = 8, .heads = 12, .n_q = 128, .n_k = 128, .d = 32});
}

}  // namespace lookback::bench
