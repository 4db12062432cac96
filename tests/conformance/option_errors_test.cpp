// Every option that can be wrong, one at a time: the sentence names it and what was given, and
// nothing is written.
#include <cmath>
#include <functional>
#include <limits>

#include "catch.hpp"
#include "support/refusal.hpp"

using namespace lookback::test;
using lookback::Blocks;
using lookback::Documents;
using lookback::Extents;
using lookback::Position;
using lookback::ScoreHook;
using lookback::Tensor;
using lookback::Type;
using lookback::Window;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
using Ids = std::vector<std::int64_t>;

// The call that is spoiled: B 2, H 4, H_kv 2, n_q 5, n_k 6, d 3, d_v 4.
const bool kTrue[2 * 4 * 5 * 6] = {};
const float kZeros[2 * 4 * 5 * 6] = {};

Tensor repeated(const void* data, Type type, const Extents& extent) {
  return {data, type, extent, {0, 0, 0, 0}};
}

std::string word_of(double x) {
  return std::isnan(x) ? "nan" : std::isinf(x) ? "inf" : std::to_string(static_cast<int>(x));
}

}  // namespace

TEST_CASE("option errors: what the others spoil is right") {
  const std::vector<double> per_head(4, 0.5), per_sequence(8, -kInf);
  const Ids lengths{0, 6}, queries(5), keys(12), offsets{-3, 7};
  Call call;
  call.options.alibi = per_head;
  call.options.sinks = per_sequence;
  call.options.softcap = 2;
  call.options.causal = true;
  call.options.window = Window{0, {}};
  call.options.prefix = 0;
  call.options.position = Position::per_sequence(offsets);
  call.options.lengths = lengths;
  call.options.documents = Documents{queries, keys};
  call.options.blocks = Blocks{repeated(kTrue, Type::boolean, {2, 1, 3, 1}), 2, 100};
  call.options.mask = repeated(kTrue, Type::boolean, {1, 4, 5, 1});
  call.options.bias = repeated(kZeros, Type::float32, {2, 1, 1, 6});
  CHECK_NOTHROW(call.run());
  CHECK_FALSE(call.untouched());
}

TEST_CASE("option errors: a softcap that is not finite and positive") {
  for (const double cap : {0.0, -2.0, kNaN, kInf, -kInf}) {
    Call call;
    call.options.softcap = cap;
    INFO("softcap " << cap);
    check_refused(call, {"softcap", word_of(cap)});
  }
}

TEST_CASE("option errors: slopes and sinks of another number than heads") {
  for (const std::size_t given : {0, 1, 2, 3, 5, 7, 9}) {
    const std::vector<double> values(given, 0.25);
    INFO(given << " numbers");
    Call alibi, sinks;
    alibi.options.alibi = values;
    alibi.options.position = Position::top_left();
    sinks.options.sinks = values;
    check_refused(alibi, {"alibi", std::to_string(given), "4", "8"});
    check_refused(sinks, {"sinks", std::to_string(given), "4", "8"});
  }
}

TEST_CASE("option errors: slopes that are no finite float32, sinks that are NaN or +inf") {
  for (const double slope : {kNaN, kInf, -kInf, 0x1p1000}) {
    std::vector<double> slopes(4, 0.25);
    slopes[2] = slope;
    Call call;
    call.options.alibi = slopes;
    call.options.position = Position::top_left();
    check_refused(call,
                  {"alibi[2]", slope == 0x1p1000 ? "1.0715086071862673e+301" : word_of(slope)});
  }
  for (const double sink : {kNaN, kInf}) {
    std::vector<double> sinks(8, 0);
    sinks[5] = sink;
    Call call;
    call.options.sinks = sinks;
    check_refused(call, {"sinks[5]", word_of(sink)});
  }
}

TEST_CASE("option errors: a bias of a type that cannot be added") {
  Call boolean, wide;
  boolean.options.bias = repeated(kTrue, Type::boolean, {1, 1, 1, 1});
  check_refused(boolean, {"bias", "boolean"});
  wide.options.bias = repeated(kZeros, Type::float64, {1, 1, 1, 1});
  check_refused(wide, {"bias", "float64", "float32"});
}

TEST_CASE("option errors: a mask or blocks that are not boolean") {
  for (const Type type : {Type::float32, Type::float64, Type::bfloat16, Type::float16}) {
    Call mask, blocks;
    mask.options.mask = repeated(kZeros, type, {1, 1, 1, 1});
    check_refused(mask, {"mask", name_of(type), "boolean"});
    blocks.options.blocks = Blocks{repeated(kZeros, type, {1, 1, 1, 1}), 5, 6};
    check_refused(blocks, {"blocks", name_of(type), "boolean"});
  }
}

TEST_CASE("option errors: extents that do not broadcast") {
  const Extents full{2, 4, 5, 6}, full_blocks{2, 4, 3, 2};
  for (std::size_t axis = 0; axis < 4; ++axis)
    for (const std::int64_t wrong : {std::int64_t{0}, std::int64_t{7}, std::int64_t{-1}}) {
      Extents extent{1, 1, 1, 1};
      extent[axis] = wrong;
      INFO("axis " << axis << ", extent " << wrong);
      Call mask, bias, blocks;
      mask.options.mask = repeated(kTrue, Type::boolean, extent);
      bias.options.bias = repeated(kZeros, Type::float32, extent);
      blocks.options.blocks = Blocks{repeated(kTrue, Type::boolean, extent), 2, 3};
      const std::string given = std::to_string(wrong);
      check_refused(mask, {"mask", given});
      check_refused(bias, {"bias", given});
      check_refused(blocks, {"blocks", given});
      if (wrong < 0) continue;
      check_refused(mask, {std::to_string(full[axis])});
      check_refused(bias, {std::to_string(full[axis])});
      check_refused(blocks, {std::to_string(full_blocks[axis])});
    }
}

TEST_CASE("option errors: arrays that are null, not aligned, or beyond memory") {
  Call mask, bias, blocks, crooked, far;
  mask.options.mask = repeated(nullptr, Type::boolean, {1, 1, 1, 6});
  bias.options.bias = repeated(nullptr, Type::float32, {1, 1, 1, 6});
  blocks.options.blocks = Blocks{repeated(nullptr, Type::boolean, {1, 1, 1, 1}), 5, 6};
  check_refused(mask, {"mask", "null"});
  check_refused(bias, {"bias", "null"});
  check_refused(blocks, {"blocks", "null"});
  crooked.options.bias =
      repeated(reinterpret_cast<const char*>(kZeros) + 1, Type::float32, {1, 1, 1, 1});
  check_refused(crooked, {"bias", "float32"});
  far.options.mask = Tensor{kTrue, Type::boolean, {1, 1, 5, 6}, {0, 0, INT64_MAX, 1}};
  check_refused(far, {"mask", std::to_string(INT64_MAX)});
}

TEST_CASE("option errors: outputs that share memory with a bias, a mask or blocks") {
  for (const bool in_lse : {false, true}) {
    INFO((in_lse ? "lse" : "out"));
    const std::string output = in_lse ? "lse" : "out";
    Call bias, mask, blocks;
    const auto data = [&](Call& call) { return in_lse ? call.lse.data : call.out.data; };
    bias.options.bias = repeated(data(bias), Type::float32, {1, 1, 1, 6});
    check_refused(bias, {output, "bias"});
    mask.options.mask = repeated(data(mask), Type::boolean, {1, 1, 1, 6});
    check_refused(mask, {output, "mask"});
    blocks.options.blocks = Blocks{repeated(data(blocks), Type::boolean, {1, 1, 1, 1}), 5, 6};
    check_refused(blocks, {output, "blocks"});
  }
}

TEST_CASE("option errors: a hook without a function") {
  Call call;
  call.options.hook = ScoreHook{nullptr, &call};
  check_refused(call, {"hook", "null"});
}

TEST_CASE("option errors: a position for another number of sequences, also unused") {
  for (const std::size_t given : {0, 1, 3}) {
    const Ids offsets(given);
    for (const bool causal : {false, true}) {
      Call call;
      call.options.causal = causal;
      call.options.position = Position::per_sequence(offsets);
      check_refused(call, {"position", std::to_string(given), "2"});
    }
  }
}

TEST_CASE("option errors: what needs a position and has none") {
  const std::vector<double> slopes(4);
  const std::pair<const char*, std::function<void(lookback::Options&)>> users[] = {
      {"causal", [](auto& o) { o.causal = true; }},
      {"window",
       [](auto& o) {
         o.window = Window{1, 1};
       }},
      {"window", [](auto& o) { o.window = Window{}; }},
      {"alibi", [&](auto& o) { o.alibi = slopes; }}};
  for (const auto& [name, use] : users) {
    INFO(name);
    Call call;
    use(call.options);
    check_refused(call, {name, "position", "5", "6"});
    call.options.position = Position::top_left();
    CHECK_NOTHROW(call.run());
    Call square({.n_q = 6, .n_k = 6, .d = 3, .d_v = 4, .B = 2, .H = 4, .H_kv = 2});
    use(square.options);
    CHECK_NOTHROW(square.run());
  }
}

TEST_CASE("option errors: negative windows and prefixes") {
  for (const std::int64_t wrong : {std::int64_t{-1}, INT64_MIN}) {
    Call left, right, prefix;
    left.options.position = right.options.position = Position::top_left();
    left.options.window = Window{wrong, {}};
    right.options.window = Window{2, wrong};
    prefix.options.prefix = wrong;
    check_refused(left, {"window.left", std::to_string(wrong)});
    check_refused(right, {"window.right", std::to_string(wrong)});
    check_refused(prefix, {"prefix", std::to_string(wrong)});
  }
}

TEST_CASE("B45 option errors: lengths that are no lengths") {
  for (const std::int64_t wrong :
       {std::int64_t{-1}, std::int64_t{7}, std::int64_t{INT32_MAX}, INT64_MIN}) {
    const Ids lengths{3, wrong};
    Call call;
    call.options.lengths = lengths;
    check_refused(call, {"lengths[1]", std::to_string(wrong), "6"});
  }
  for (const std::size_t given : {0, 1, 3}) {
    const Ids lengths(given);
    Call call;
    call.options.lengths = lengths;
    check_refused(call, {"lengths", std::to_string(given), "2"});
  }
}

TEST_CASE("option errors: document ids for another number of positions") {
  const Ids queries(5), keys(6);
  for (const std::size_t given : {0, 1, 4, 7, 11}) {
    const Ids wrong(given);
    Call query, key;
    query.options.documents = Documents{wrong, keys};
    check_refused(query, {"documents.queries", std::to_string(given), "5"});
    key.options.documents = Documents{queries, wrong};
    check_refused(key, {"documents.keys", std::to_string(given), "6"});
  }
  Call none;
  none.options.documents = Documents{queries, {}};
  check_refused(none, {"documents", "keys", "5", "6"});
}

TEST_CASE("option errors: blocks of no rows or keys") {
  for (const std::int64_t wrong : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN}) {
    Call rows, keys;
    rows.options.blocks = Blocks{repeated(kTrue, Type::boolean, {1, 1, 1, 1}), wrong, 2};
    keys.options.blocks = Blocks{repeated(kTrue, Type::boolean, {1, 1, 1, 1}), 2, wrong};
    check_refused(rows, {"blocks.rows", std::to_string(wrong)});
    check_refused(keys, {"blocks.keys", std::to_string(wrong)});
  }
}

TEST_CASE("option errors: boolean arrays where numbers belong") {
  for (const int which : {0, 1, 2, 3, 4}) {
    Call call;
    const char* const names[] = {"q", "k", "v", "out", "lse"};
    lookback::Type* const types[] = {&call.q.type, &call.k.type, &call.v.type, &call.out.type,
                                     &call.lse.type};
    *types[which] = Type::boolean;
    INFO(names[which]);
    check_refused(call, {names[which], "boolean"});
  }
}

TEST_CASE("option errors: an lse of 16 bits") {
  for (const Type type : {Type::bfloat16, Type::float16}) {
    Call call;
    call.lse.type = type;
    check_refused(call, {"lse", name_of(type), "float32"});
  }
}
