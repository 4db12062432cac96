// Bounds of packed sequences that are none, and options that have no meaning with them.
#include "catch.hpp"
#include "support/refusal.hpp"

using namespace lookback::test;
using lookback::Blocks;
using lookback::Position;
using lookback::Tensor;
using lookback::Type;

namespace {

using Ids = std::vector<std::int64_t>;

const Shape kPacked{.n_q = 5, .n_k = 6, .d = 3, .d_v = 4, .B = 1, .H = 4, .H_kv = 2};
const Ids kQueries{0, 2, 2, 5}, kKeys{0, 0, 4, 6};

void check_bounds_refused(const Ids& q, const Ids& k, const std::vector<std::string>& named) {
  Call call(kPacked);
  call.options.q_bounds = q;
  call.options.k_bounds = k;
  check_refused(call, named);
}

}  // namespace

TEST_CASE("packed errors: what the others spoil is right") {
  Call call(kPacked);
  call.options.q_bounds = kQueries;
  call.options.k_bounds = kKeys;
  CHECK_NOTHROW(call.run());
  CHECK_FALSE(call.untouched());
}

TEST_CASE("B45 packed errors: bounds that do not start at 0, that fall, or end elsewhere") {
  check_bounds_refused({1, 2, 2, 5}, kKeys, {"q_bounds", "1", "0"});
  check_bounds_refused({-1, 2, 2, 5}, kKeys, {"q_bounds", "-1"});
  check_bounds_refused({0, 5, 3, 5}, kKeys, {"q_bounds[2]", "3", "q_bounds[1]", "5"});
  check_bounds_refused({0, 2, 2, 4}, kKeys, {"q_bounds", "4", "q", "5"});
  check_bounds_refused({0, 2, 2, 6}, kKeys, {"q_bounds", "6", "q", "5"});
  check_bounds_refused({0, 2, INT64_MAX, 5}, kKeys,
                       {"q_bounds[3]", "5", std::to_string(INT64_MAX)});
  check_bounds_refused({}, kKeys, {"q_bounds", "empty"});
  check_bounds_refused(kQueries, {2, 2, 4, 6}, {"k_bounds", "2", "0"});
  check_bounds_refused(kQueries, {0, 5, 4, 6}, {"k_bounds[2]", "4", "k_bounds[1]", "5"});
  check_bounds_refused(kQueries, {0, 0, INT64_MIN, 6}, {"k_bounds[2]", std::to_string(INT64_MIN)});
  check_bounds_refused(kQueries, {0, 0, 4, 7}, {"k_bounds", "7", "k", "6"});
  check_bounds_refused(kQueries, {}, {"k_bounds", "empty"});
}

TEST_CASE("packed errors: bounds of another number of sequences, or of keys alone") {
  check_bounds_refused(kQueries, {0, 4, 6}, {"k_bounds", "3", "q_bounds", "4"});
  Call call(kPacked);
  call.options.k_bounds = kKeys;
  check_refused(call, {"k_bounds", "q_bounds"});
}

TEST_CASE("packed errors: query bounds that must serve the keys too") {
  Call call(kPacked);
  call.options.q_bounds = kQueries;
  check_refused(call, {"q_bounds", "5", "k", "6"});
}

TEST_CASE("packed errors: more than one sequence along the batch axis") {
  Shape shape = kPacked;
  shape.B = 2;
  Call call(shape);
  call.options.q_bounds = kQueries;
  call.options.k_bounds = kKeys;
  check_refused(call, {"q", "2", "q_bounds", "1"});
}

TEST_CASE("packed errors: lengths, blocks, a mask and a bias have no meaning") {
  const Ids lengths{0, 4, 2};
  const bool seen = true;
  const float zero = 0;
  const Tensor mask{&seen, Type::boolean, {1, 1, 1, 1}, {}};
  const char* const names[] = {"lengths", "blocks", "mask", "bias"};
  for (const int which : {0, 1, 2, 3}) {
    Call call(kPacked);
    call.options.q_bounds = kQueries;
    call.options.k_bounds = kKeys;
    if (which == 0) call.options.lengths = lengths;
    if (which == 1) call.options.blocks = Blocks{mask, 5, 6};
    if (which == 2) call.options.mask = mask;
    if (which == 3) call.options.bias = Tensor{&zero, Type::float32, {1, 1, 1, 1}, {}};
    check_refused(call, {names[which], "q_bounds"});
  }
}

TEST_CASE("packed errors: a position is needed where one sequence has n_q != n_k") {
  const Ids queries{0, 2, 5, 5}, keys{0, 2, 6, 6};
  Call call(kPacked);
  call.options.q_bounds = queries;
  call.options.k_bounds = keys;
  call.options.causal = true;
  check_refused(call, {"causal", "position", "3", "4", "sequence", "1"});
  call.options.position = Position::bottom_right();
  CHECK_NOTHROW(call.run());
  Call equal({.n_q = 5, .n_k = 5, .d = 3, .d_v = 4, .B = 1, .H = 4, .H_kv = 2});
  equal.options.q_bounds = queries;
  equal.options.causal = true;
  CHECK_NOTHROW(equal.run());
}

TEST_CASE("packed errors: slopes, sinks, positions and ids are counted by sequence and token") {
  const std::vector<double> wrong(8);  // of 3 sequences and 4 heads
  const Ids two{1, 1}, queries(5), keys(5);
  for (const int which : {0, 1, 2, 3}) {
    Call call(kPacked);
    call.options.q_bounds = kQueries;
    call.options.k_bounds = kKeys;
    call.options.position = Position::top_left();
    if (which == 0) call.options.alibi = wrong;
    if (which == 1) call.options.sinks = wrong;
    if (which == 2) call.options.position = Position::per_sequence(two);
    if (which == 3) call.options.documents = lookback::Documents{queries, keys};
    const std::vector<std::string> named[] = {{"alibi", "8", "4", "12"},
                                              {"sinks", "8", "4", "12"},
                                              {"position", "2", "3"},
                                              {"documents.keys", "5", "6"}};
    check_refused(call, named[which]);
  }
}
