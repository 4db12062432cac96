// Every argument that can be wrong, one at a time.
#include <cmath>
#include <limits>

#include "catch.hpp"
#include "support/refusal.hpp"

using namespace lookback::test;
using lookback::Extents;
using lookback::OutputTensor;
using lookback::Position;
using lookback::Tensor;
using lookback::Type;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
const char* const kAxes[] = {"batch", "head", "position", "feature"};

}  // namespace

TEST_CASE("errors: the call that the others spoil is right") {
  const Call call;
  CHECK_NOTHROW(call.run());
  CHECK_FALSE(call.untouched());
}

TEST_CASE("errors: an extent of k that does not fit") {
  struct Wrong {
    std::size_t axis;
    std::vector<std::string> named;
  };
  // k [2, 2, 6, 3] beside q [2, 4, 5, 3] and v [2, 2, 6, 4].
  for (const Wrong& wrong : {Wrong{0, {"k", "7", "2"}}, Wrong{1, {"k", "v", "2", "7"}},
                             Wrong{2, {"v", "k", "6", "7"}}, Wrong{3, {"k", "q", "7", "3"}}}) {
    Call call;
    call.k.extent[wrong.axis] = 7;
    call.k.stride = {0, 0, 0, 0};
    INFO("axis " << kAxes[wrong.axis]);
    check_refused(call, wrong.named);
  }
}

TEST_CASE("errors: an extent of v that does not fit") {
  struct Wrong {
    std::size_t axis;
    std::vector<std::string> named;
  };
  for (const Wrong& wrong : {Wrong{0, {"v", "7", "2"}}, Wrong{1, {"v", "k", "7", "2"}},
                             Wrong{2, {"v", "k", "7", "6"}}, Wrong{3, {"out", "v", "4", "7"}}}) {
    Call call;
    call.v.extent[wrong.axis] = 7;
    call.v.stride = {0, 0, 0, 0};
    INFO("axis " << kAxes[wrong.axis]);
    check_refused(call, wrong.named);
  }
}

TEST_CASE("errors: an extent of q that does not fit") {
  struct Wrong {
    std::size_t axis;
    std::vector<std::string> named;
  };
  for (const Wrong& wrong : {Wrong{0, {"q", "7", "2"}}, Wrong{1, {"q", "7"}},
                             Wrong{2, {"q", "7", "5"}}, Wrong{3, {"q", "7", "3"}}}) {
    Call call;
    call.q.extent[wrong.axis] = 7;
    call.q.stride = {0, 0, 0, 0};
    INFO("axis " << kAxes[wrong.axis]);
    check_refused(call, wrong.named);
  }
}

TEST_CASE("errors: an extent of out or lse that does not fit") {
  const char* const out_given[] = {"2", "4", "5", "4"};
  const char* const lse_given[] = {"2", "4", "5", "1"};
  for (std::size_t axis = 0; axis < 4; ++axis)
    for (const std::int64_t wrong : {0, 7}) {
      INFO("axis " << kAxes[axis] << ", extent " << wrong);
      Call out;
      out.out.extent[axis] = wrong;
      check_refused(out, {"out", std::to_string(wrong), out_given[axis]});
      Call lse;
      lse.lse.extent[axis] = wrong;
      check_refused(lse, {"lse", std::to_string(wrong), lse_given[axis]});
    }
}

TEST_CASE("errors: negative extents of every array and axis") {
  for (std::size_t axis = 0; axis < 4; ++axis)
    for (const std::int64_t wrong : {std::int64_t{-1}, INT64_MIN}) {
      INFO("axis " << kAxes[axis] << ", extent " << wrong);
      const std::string value = std::to_string(wrong);
      Call q, k, v, out, lse;
      q.q.extent[axis] = k.k.extent[axis] = v.v.extent[axis] = wrong;
      out.out.extent[axis] = lse.lse.extent[axis] = wrong;
      check_refused(q, {"q", value});
      check_refused(k, {"k", value});
      check_refused(v, {"v", value});
      check_refused(out, {"out", value});
      check_refused(lse, {"lse", value});
    }
}

TEST_CASE("errors: extents and strides beyond what memory can hold") {
  const std::int64_t huge = std::int64_t{1} << 40;
  {
    // The number of elements wraps to 0 in 64 bits.
    Call call;
    call.q.extent = {1, 1, huge, huge};
    call.k.extent = {1, 1, 1, huge};
    call.v.extent = {1, 1, 1, 1};
    call.out.extent = {1, 1, huge, 1};
    call.lse.extent = {1, 1, huge, 1};
    call.q.stride = call.k.stride = {0, 0, 0, 0};
    check_refused(call, {"q", std::to_string(huge)});
  }
  for (const std::int64_t stride :
       {std::int64_t{1} << 61, -(std::int64_t{1} << 61), INT64_MAX, INT64_MIN})
    for (const int which : {0, 1, 2, 3, 4}) {
      Call call;
      auto& wrong = which == 0   ? call.q.stride
                    : which == 1 ? call.k.stride
                    : which == 2 ? call.v.stride
                    : which == 3 ? call.out.stride
                                 : call.lse.stride;
      wrong[2] = stride;
      INFO("stride " << stride << " of array " << which);
      const char* const names[] = {"q", "k", "v", "out", "lse"};
      check_refused(call, {names[which], std::to_string(stride)});
    }
}

TEST_CASE("errors: arrays of different types") {
  for (const int which : {0, 1, 2, 3, 4}) {
    Call call;
    auto& type = which == 0   ? call.q.type
                 : which == 1 ? call.k.type
                 : which == 2 ? call.v.type
                 : which == 3 ? call.out.type
                              : call.lse.type;
    type = Type::float64;
    const char* const names[] = {"k", "k", "v", "out", "lse"};  // q is what the others must match
    INFO("array " << which);
    check_refused(call, {names[which], "float32", "float64"});
  }
}

TEST_CASE("errors: null pointers") {
  Call q, k, v, out, lse;
  q.q.data = k.k.data = v.v.data = nullptr;
  out.out.data = lse.lse.data = nullptr;
  check_refused(q, {"q", "null"});
  check_refused(k, {"k", "null"});
  check_refused(v, {"v", "null"});
  check_refused(out, {"out", "null"});
  check_refused(lse, {"lse", "null"});
}

TEST_CASE("errors: a default tensor or a forgotten array") {
  Call call;
  call.v = Tensor{};
  check_refused(call, {"v"});
}

TEST_CASE("errors: a scale that is no finite number") {
  for (const double scale : {kNaN, kInf, -kInf}) {
    Call call;
    call.options.scale = scale;
    check_refused(call, {"scale", std::isnan(scale) ? "nan" : "inf"});
  }
  Call call;
  call.options.scale = 1e300;  // finite, but not in float32
  check_refused(call, {"scale", "e+300", "float32"});
}

TEST_CASE("errors: a temperature that is not finite and positive") {
  for (const double T : {0.0, -0.0, -1.0, kNaN, kInf, -kInf}) {
    Call call;
    call.options.temperature = T;
    INFO("temperature " << T);
    check_refused(call, {"temperature", std::isnan(T)   ? "nan"
                                        : std::isinf(T) ? "inf"
                                        : T == 0        ? "0"
                                                        : "-1"});
  }
}

TEST_CASE("errors: fewer than one thread") {
  for (const int threads : {0, -1, std::numeric_limits<int>::min()}) {
    Call call;
    call.options.threads = threads;
    check_refused(call, {"threads", std::to_string(threads)});
  }
}

TEST_CASE("errors: query heads that are no multiple of the key-value heads") {
  const Call three({.n_q = 5, .n_k = 6, .d = 3, .d_v = 4, .B = 1, .H = 4, .H_kv = 3});
  check_refused(three, {"heads", "4", "3"});
  const Call more({.n_q = 5, .n_k = 6, .d = 3, .d_v = 4, .B = 1, .H = 2, .H_kv = 4});
  check_refused(more, {"heads", "2", "4"});
  const Call none({.n_q = 5, .n_k = 6, .d = 3, .d_v = 4, .B = 1, .H = 4, .H_kv = 0});
  check_refused(none, {"k", "heads", "0", "4"});
}

TEST_CASE("errors: causal with n_q != n_k and no position") {
  Call call;
  call.options.causal = true;
  check_refused(call, {"position", "5", "6"});
  call.options.position = Position::bottom_right();
  CHECK_NOTHROW(call.run());
}

TEST_CASE("errors: no features and no scale") {
  Call call({.n_q = 5, .n_k = 6, .d = 0, .d_v = 4});
  check_refused(call, {"scale", "0"});
  call.options.scale = 1;
  CHECK_NOTHROW(call.run());
}

TEST_CASE("errors: data that its element type does not align") {
  Call call;
  call.k.data = static_cast<const char*>(call.k.data) + 1;
  check_refused(call, {"k", "float32"});
}

TEST_CASE("errors: found also when there is nothing to compute") {
  Call call({.n_q = 0, .n_k = 6, .d = 3, .d_v = 4});
  CHECK_NOTHROW(call.run());
  call.options.temperature = 0;
  check_refused(call, {"temperature"});
}
