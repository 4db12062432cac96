// How rows are cut into blocks: nothing of it shows in a result, so it is looked at here.
#include "plan.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "catch.hpp"
#include "check.hpp"
#include "support/random.hpp"
#include "target_table.hpp"

using namespace lookback::test;
using lookback::BlockOfRows;
using lookback::Plan;

namespace {

/// Arrays of zeros of random extents, one sequence after the other if packed.
struct RandomCall {
  std::int64_t B, H_kv, H, n_q, n_k, d;
  std::vector<std::int64_t> bounds{0};
  std::vector<float> q, k, out;
  lookback::Options options;

  RandomCall(Random& random, bool packed)
      : B(packed ? 1 : random.integer(1, 4)),
        H_kv(random.integer(1, 3)),
        H(H_kv * random.integer(1, 4)),
        n_q(random.integer(1, random.integer(0, 1) ? 60 : 3000)),
        n_k(packed ? n_q : random.integer(1, 2000)),
        d(random.integer(1, 4)),
        q(std::size_t(B * H * n_q * d)),
        k(std::size_t(B * H_kv * n_k * d)),
        out(q.size()) {
    if (!packed) return;
    while (bounds.back() < n_q) {
      bounds.push_back(std::min(n_q, bounds.back() + random.integer(0, 700)));
    }
    options.q_bounds = bounds;
  }

  lookback::Problem problem() {
    using lookback::heads_first;
    const lookback::Tensor keys = heads_first<const float>(k.data(), B, H_kv, n_k, d);
    return check(heads_first<const float>(q.data(), B, H, n_q, d), keys, keys,
                 heads_first(out.data(), B, H, n_q, d), options);
  }
};

/// Blocks of one sequence and the heads that go together.
struct Unit {
  std::vector<int> times;  // that each row is in a block
  std::vector<std::int64_t> sizes;
};

}  // namespace

TEST_CASE("plan: blocks hold every row once and are alike") {
  INFO("seed " << test_seed());
  Random random(test_seed());
  const auto& kernels = lookback::active_kernels().of<float>();
  for (int draw = 0; draw < 400; ++draw) {
    RandomCall call(random, draw % 3 == 0);
    const lookback::Problem problem = call.problem();
    const Plan plan = make_plan(problem, kernels, static_cast<int>(random.integer(1, 9)));
    INFO("draw " << draw << ": B " << call.B << ", H " << call.H << " on " << call.H_kv << ", n_q "
                 << call.n_q << ", n_k " << call.n_k << ", workers " << plan.workers);
    std::map<std::pair<std::int64_t, std::int64_t>, Unit> units;
    for (std::int64_t i = 0; i < plan.blocks; ++i) {
      const BlockOfRows block = plan.block(i);
      Unit& unit = units[{block.sequence.index, block.first_head}];
      unit.times.resize(std::size_t(plan.heads_per_unit * block.sequence.n_q));
      REQUIRE(block.n_rows <= plan.most_rows);
      REQUIRE(block.first_row + block.n_rows <= std::int64_t(unit.times.size()));
      for (std::int64_t r = 0; r < block.n_rows; ++r) {
        ++unit.times[std::size_t(block.first_row + r)];
      }
      unit.sizes.push_back(block.n_rows);
    }
    std::size_t rows = 0;
    for (const auto& [key, unit] : units) {
      rows += unit.times.size();
      CHECK(std::count(unit.times.begin(), unit.times.end(), 1) ==
            std::ptrdiff_t(unit.times.size()));
      const auto [least, most] = std::minmax_element(unit.sizes.begin(), unit.sizes.end());
      CHECK(*most - *least < 2 * plan.row_step);
    }
    CHECK(rows == std::size_t(call.B * call.H * call.n_q));
  }
}
