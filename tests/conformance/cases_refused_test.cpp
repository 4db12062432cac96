// CASES.md: lengths, bounds and masks are not taken on trust.
#include "catch.hpp"
#include "support/refusal.hpp"
#include "support/stored_array.hpp"

using namespace lookback::test;
using lookback::Extents;
using lookback::Options;
using lookback::Position;
using lookback::Type;

namespace {

using Numbers = std::vector<std::int64_t>;

/// Of two sequences of 5 queries and 6 keys.
void check_lengths(const Numbers& lengths, const std::vector<std::string>& named) {
  Call call;
  call.options.lengths = lengths;
  check_refused(call, named);
}

/// One packed array of 5 queries and 6 keys.
void check_bounds(const Numbers& q_bounds, const Numbers& k_bounds,
                  const std::vector<std::string>& named) {
  Call call(Shape{.n_q = 5, .n_k = 6, .d = 3, .d_v = 4});
  call.options.q_bounds = q_bounds;
  call.options.k_bounds = k_bounds;
  check_refused(call, named);
}

}  // namespace

TEST_CASE("B45 lengths beyond the keys are refused by the sequence's number") {
  check_lengths({-1, 6}, {"lengths", "0", "-1"});
  check_lengths({6, -1}, {"lengths", "1", "-1"});
  check_lengths({6, 7}, {"lengths", "1", "7", "6"});
  check_lengths({2147483647, 6}, {"lengths", "0", "2147483647"});
  check_lengths({6, INT64_MAX}, {"lengths", "1"});
  check_lengths({INT64_MIN, 6}, {"lengths", "0"});
  check_lengths({6}, {"lengths", "1", "2"});
  check_lengths({6, 6, 6}, {"lengths", "3", "2"});
  check_lengths({}, {"lengths", "0", "2"});
}

TEST_CASE("B45 lengths of 0 and of all keys are fine") {
  const Numbers lengths{0, 6};
  Call call;
  call.options.lengths = lengths;
  CHECK_NOTHROW(call.run());
}

TEST_CASE("B45 bounds that fall, start late or end elsewhere are refused") {
  check_bounds({0, 5, 3}, {0, 3, 6}, {"q_bounds", "3", "5"});
  check_bounds({0, 3, 5}, {0, 6, 3}, {"k_bounds", "3", "6"});
  check_bounds({1, 3, 5}, {0, 3, 6}, {"q_bounds", "1", "0"});
  check_bounds({0, 3, 4}, {0, 3, 6}, {"q_bounds", "4", "5"});
  check_bounds({0, 3, 6}, {0, 3, 6}, {"q_bounds", "6", "5"});
  check_bounds({0, 3, 5}, {0, 3, 7}, {"k_bounds", "7", "6"});
  check_bounds({0, -1, 5}, {0, 3, 6}, {"q_bounds", "-1"});
  check_bounds({0, 3, 2147483647}, {0, 3, 6}, {"q_bounds", "2147483647"});
  check_bounds({0, INT64_MIN, 5}, {0, 3, 6}, {"q_bounds"});
  check_bounds({}, {0, 6}, {"q_bounds", "empty"});
  check_bounds({0, 5}, {0, 3, 6}, {"k_bounds", "q_bounds", "2", "3"});
}

TEST_CASE("B45 query bounds that cannot serve the keys, and key bounds alone") {
  const Numbers q_bounds{0, 3, 5}, k_bounds{0, 3, 6};
  Call shared(Shape{.n_q = 5, .n_k = 6, .d = 3, .d_v = 4});
  shared.options.q_bounds = q_bounds;
  check_refused(shared, {"q_bounds", "5", "6"});
  Call alone(Shape{.n_q = 5, .n_k = 6, .d = 3, .d_v = 4});
  alone.options.k_bounds = k_bounds;
  check_refused(alone, {"k_bounds", "q_bounds"});
  Call batch;
  batch.options.q_bounds = q_bounds;
  batch.options.k_bounds = k_bounds;
  check_refused(batch, {"q", "2", "1"});
}

TEST_CASE("B45 options that have no meaning with bounds are refused by name") {
  const Numbers q_bounds{0, 3, 5}, k_bounds{0, 3, 6}, lengths{3, 3};
  const StoredArray mask(Type::boolean, {1, 1, 5, 6}), bias(Type::float32, {1, 1, 5, 6});
  const auto refuse = [&](auto set, const char* name) {
    Call call(Shape{.n_q = 5, .n_k = 6, .d = 3, .d_v = 4});
    call.options.q_bounds = q_bounds;
    call.options.k_bounds = k_bounds;
    set(call.options);
    check_refused(call, {name, "q_bounds"});
  };
  refuse([&](Options& o) { o.lengths = lengths; }, "lengths");
  refuse([&](Options& o) { o.mask = mask.view(); }, "mask");
  refuse([&](Options& o) { o.bias = bias.view(); }, "bias");
  refuse([&](Options& o) { o.blocks = lookback::Blocks{mask.view(), 1, 1}; }, "blocks");
}

TEST_CASE("B43 a mask is boolean and a bias is not") {
  for (const Type type : {Type::float32, Type::float64, Type::float16, Type::bfloat16}) {
    const StoredArray numbers(type, {1, 1, 5, 6});
    Call call;
    call.options.mask = numbers.view();
    check_refused(call, {"mask", name_of(type), "boolean"});
    Call listed;
    listed.options.blocks = lookback::Blocks{numbers.view(), 1, 1};
    check_refused(listed, {"blocks", name_of(type), "boolean"});
  }
  const StoredArray boolean(Type::boolean, {1, 1, 5, 6});
  Call call;
  call.options.bias = boolean.view();
  check_refused(call, {"bias", "boolean"});
}

TEST_CASE("B33 extents that do not broadcast are refused by name") {
  for (const Extents& wrong : {Extents{2, 4, 5, 5}, Extents{2, 4, 6, 6}, Extents{2, 2, 5, 6},
                               Extents{3, 4, 5, 6}, Extents{2, 4, 5, 0}, Extents{0, 1, 1, 1}}) {
    const StoredArray mask(Type::boolean, wrong), bias(Type::float32, wrong);
    Call masked, biased;
    masked.options.mask = mask.view();
    check_refused(masked, {"mask"});
    biased.options.bias = bias.view();
    check_refused(biased, {"bias"});
  }
  const StoredArray blocks(Type::boolean, {1, 1, 3, 3});
  Call call;  // 5 rows in twos are 3 blocks, 6 keys in twos 3, in fives 2
  call.options.blocks = lookback::Blocks{blocks.view(), 2, 5};
  check_refused(call, {"blocks"});
  call.options.blocks = lookback::Blocks{blocks.view(), 2, 2};
  CHECK_NOTHROW(call.run());
}

TEST_CASE("B18 B23 B29 a term that counts positions wants to know them") {
  const std::vector<double> slopes{1, 1, 1, 1};
  const auto refuse = [](auto set, const char* name) {
    Call call;  // 5 queries, 6 keys
    set(call.options);
    check_refused(call, {name, "5", "6", "position"});
    call.options.position = Position::bottom_right();
    CHECK_NOTHROW(call.run());
  };
  refuse([](Options& o) { o.causal = true; }, "causal");
  refuse([](Options& o) { o.window = lookback::Window{.left = 2, .right = {}}; }, "window");
  refuse([&](Options& o) { o.alibi = slopes; }, "alibi");
}

TEST_CASE("B27 B29 sinks and slopes are one per head, or per sequence and head") {
  for (const std::size_t count : {0u, 1u, 3u, 5u, 7u, 9u}) {
    const std::vector<double> numbers(count, 1);
    Call sinks, alibi;
    sinks.options.sinks = numbers;
    check_refused(sinks, {"sinks", std::to_string(count), "4", "8"});
    alibi.options.alibi = numbers;
    alibi.options.position = Position::top_left();
    check_refused(alibi, {"alibi", std::to_string(count), "4", "8"});
  }
  for (const double wrong : {double(NAN), double(INFINITY)}) {
    const std::vector<double> numbers{0, 0, wrong, 0};
    Call sinks, alibi;
    sinks.options.sinks = numbers;
    check_refused(sinks, {"sinks", "2"});
    alibi.options.alibi = numbers;
    check_refused(alibi, {"alibi", "2"});
  }
}
