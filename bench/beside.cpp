#include "beside.hpp"

namespace lookback::bench {

Turns turns_beside_roofs(const Problem& problem) {
  const Shape& shape = problem.shape();
  const auto fma = [&](Feed feed) {
    return Roof{fma_turn(shape.type, feed, problem.threads()), useful_flops(shape)};
  };
  std::vector<Roof> roofs{fma(Feed::registers), fma(Feed::l1)};
  if (is_decode(shape)) {
    const double bytes = bytes_to_read(shape);
    roofs.push_back(
        {read_turn(problem.keys_and_values(), static_cast<std::int64_t>(bytes), problem.threads()),
         bytes});
  }
  return {attend_turn(problem), std::move(roofs)};
}

}  // namespace lookback::bench
