// Everything that can be wrong with a merge, and with the numbers of a ready hook: named, and
// nothing written.
#include <limits>

#include "catch.hpp"
#include "support/refusal.hpp"

using namespace lookback::test;
using lookback::Extents;
using lookback::Part;
using lookback::RelativeBias;
using lookback::Type;

namespace {

/// Two right parts of [2, 3, 4, 5], to be spoiled one thing at a time.
struct MergeCall {
  static constexpr float kSentinel = -12345.5f;
  Array<float> out_data[2] = {Array<float>({2, 3, 4, 5}), Array<float>({2, 3, 4, 5})};
  Array<float> lse_data[2] = {Array<float>({2, 3, 4, 1}), Array<float>({2, 3, 4, 1})};
  Array<float> whole_out{{2, 3, 4, 5}}, whole_lse{{2, 3, 4, 1}};
  std::vector<Part> parts;
  lookback::OutputTensor out, lse;

  MergeCall() : out(whole_out.output()), lse(whole_lse.output()) {
    for (int p = 0; p < 2; ++p) {
      out_data[p].fill_value(1);
      lse_data[p].fill_value(0);
      parts.push_back({out_data[p].view(), lse_data[p].view()});
    }
    whole_out.fill_value(kSentinel);
    whole_lse.fill_value(kSentinel);
  }
  MergeCall(const MergeCall&) = delete;
  MergeCall& operator=(const MergeCall&) = delete;

  bool untouched() const {
    bool intact = true;
    for (const auto* array : {&whole_out, &whole_lse})
      for (const float x : array->storage()) intact = intact && x == kSentinel;
    return intact;
  }
};

void check_merge_refused(const MergeCall& call, const std::vector<std::string>& named) {
  check_error([&] { lookback::merge(call.parts, {call.out, call.lse}); }, named);
  CHECK(call.untouched());
}

}  // namespace

TEST_CASE("merge errors: the call that the others spoil is right") {
  const MergeCall call;
  CHECK_NOTHROW(lookback::merge(call.parts, {call.out, call.lse}));
  CHECK_FALSE(call.untouched());
}

TEST_CASE("merge errors: extents that differ") {
  for (std::size_t axis = 0; axis < 4; ++axis)
    for (const std::int64_t wrong : {0, 7}) {
      INFO("axis " << axis << ", extent " << wrong);
      const std::string given = std::to_string(wrong);
      MergeCall part, part_lse, lse;
      part.parts[1].out.extent[axis] = wrong;
      check_merge_refused(part, {"parts[1].out", given, "out"});
      part_lse.parts[1].lse.extent[axis] = wrong;
      check_merge_refused(part_lse, {"parts[1].lse", given});
      lse.lse.extent[axis] = wrong;
      check_merge_refused(lse, {"lse", given});
    }
}

TEST_CASE("merge errors: negative extents and strides beyond memory") {
  for (const std::int64_t wrong : {std::int64_t{-1}, INT64_MIN}) {
    const std::string given = std::to_string(wrong);
    MergeCall part, part_lse, out, lse;
    part.parts[0].out.extent[2] = wrong;
    check_merge_refused(part, {"parts[0].out", given});
    part_lse.parts[0].lse.extent[2] = wrong;
    check_merge_refused(part_lse, {"parts[0].lse", given});
    out.out.extent[2] = wrong;
    check_merge_refused(out, {"out", given});
    lse.lse.extent[2] = wrong;
    check_merge_refused(lse, {"lse", given});
  }
  for (const std::int64_t wrong : {INT64_MAX, INT64_MIN}) {
    const std::string given = std::to_string(wrong);
    MergeCall part, out, lse;
    part.parts[0].out.stride[2] = wrong;
    check_merge_refused(part, {"parts[0].out", given});
    out.out.stride[2] = wrong;
    check_merge_refused(out, {"out", given});
    lse.lse.stride[2] = wrong;
    check_merge_refused(lse, {"lse", given});
  }
}

TEST_CASE("merge errors: types that do not go together") {
  MergeCall wide_part, wide_out, wide_lse, wide_part_lse, narrow_lse, boolean_part, boolean_out;
  wide_part.parts[1].out.type = Type::float64;
  check_merge_refused(wide_part, {"parts[1].out", "float64", "float32"});
  wide_out.out.type = Type::float64;
  check_merge_refused(wide_out, {"out", "float64", "float32"});
  wide_lse.lse.type = Type::float64;
  check_merge_refused(wide_lse, {"lse", "float64", "float32"});
  wide_part_lse.parts[0].lse.type = Type::float64;
  check_merge_refused(wide_part_lse, {"parts[0].lse", "float64", "float32"});
  narrow_lse.parts[0].lse.type = Type::bfloat16;
  check_merge_refused(narrow_lse, {"parts[0].lse", "bfloat16", "float32"});
  boolean_part.parts[0].out.type = Type::boolean;
  check_merge_refused(boolean_part, {"parts[0].out", "boolean"});
  boolean_out.out.type = Type::boolean;
  check_merge_refused(boolean_out, {"out", "boolean"});
}

TEST_CASE("merge errors: null pointers") {
  MergeCall part, part_lse, out, lse;
  part.parts[1].out.data = nullptr;
  check_merge_refused(part, {"parts[1].out", "null"});
  part_lse.parts[1].lse.data = nullptr;
  check_merge_refused(part_lse, {"parts[1].lse", "null"});
  out.out.data = nullptr;
  check_merge_refused(out, {"out", "null"});
  lse.lse.data = nullptr;
  check_merge_refused(lse, {"lse", "null"});
}

TEST_CASE("merge errors: outputs that share memory with a part or with themselves") {
  MergeCall out, lse, each_other, repeated;
  out.out.data = const_cast<void*>(out.parts[1].out.data);
  check_merge_refused(out, {"out", "parts[1].out"});
  lse.lse.data = const_cast<void*>(lse.parts[1].lse.data);
  check_merge_refused(lse, {"lse", "parts[1].lse"});
  each_other.lse.data = each_other.out.data;
  check_merge_refused(each_other, {"lse", "out"});
  repeated.out.stride[2] = 0;
  check_merge_refused(repeated, {"out", "overlaps"});
}

TEST_CASE("hook errors: sizes of a relative bias that are none") {
  const std::vector<float> table(32 * 4);
  const auto made = [&](std::int64_t buckets, std::int64_t heads, std::int64_t most) {
    return [&table, buckets, heads, most] { RelativeBias(table, buckets, heads, most); };
  };
  CHECK_NOTHROW(made(32, 4, 128)());
  for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{0}, INT64_MIN, INT64_MAX}) {
    const std::string given = std::to_string(wrong);
    check_error(made(wrong, 4, 128), {"buckets", given});
    check_error(made(32, wrong, 128), {"heads", given});
    check_error(made(32, 4, wrong), {"max_distance", given});
  }
  check_error(made(32, 5, 128), {"table", "128", "160"});
  check_error(made(16, 4, 128), {"table", "128", "64"});
}
