// Where outputs may lie: in places of their own, or in slots of one fused array.
#include "catch.hpp"
#include "support/refusal.hpp"

using namespace lookback::test;
using lookback::OutputTensor;
using lookback::Strides;
using lookback::Tensor;
namespace reference = lookback::reference;

namespace {

/// q, k, v and out in slots of one array, as a fused projection leaves them, against plain arrays.
void check_fused(const Strides& stride, const std::int64_t (&slots)[4], std::size_t size,
                 const Shape& shape) {
  const auto p = random_problem<float>(shape, test_seed());
  std::vector<float> fused(size, Call::kSentinel);
  Tensor view[4];
  const lookback::Extents extent{shape.B, shape.H, shape.n_q, shape.d};
  for (std::size_t s = 0; s < 4; ++s)
    view[s] = lookback::strided<const float>(fused.data() + slots[s], extent, stride);
  const Array<float>* sources[] = {&p.q, &p.k, &p.v};
  for (std::size_t s = 0; s < 3; ++s)
    sources[s]->for_each_place([&](auto b, auto h, auto i, auto c) {
      fused[static_cast<std::size_t>(slots[s] + b * stride[0] + h * stride[1] + i * stride[2] +
                                     c * stride[3])] = sources[s]->at(b, h, i, c);
    });
  on_every_target([&] {
    Result<float> r{Array<float>(extent), Array<float>({shape.B, shape.H, shape.n_q, 1})};
    attend(view[0], view[1], view[2],
           {lookback::strided(fused.data() + slots[3], extent, stride), r.lse.output()});
    r.out.for_each_place([&](auto b, auto h, auto i, auto c) {
      r.out.at(b, h, i, c) = float(reference::element<float>(view[3], b, h, i, c));
    });
    CHECK(bit_difference(r, p.run()) == "");
    // The inputs are as they were.
    for (std::size_t s = 0; s < 3; ++s)
      sources[s]->for_each_place([&](auto b, auto h, auto i, auto c) {
        if (reference::element<float>(view[s], b, h, i, c) != sources[s]->at(b, h, i, c))
          FAIL("input " << s << " was written");
      });
  });
}

}  // namespace

TEST_CASE("overlap: an output that overlaps itself") {
  // out is [2, 4, 5, 4] with strides 80, 20, 4, 1.
  for (const Strides& stride :
       {Strides{80, 20, 0, 1}, Strides{80, 20, 4, 0}, Strides{0, 20, 4, 1}, Strides{80, 0, 4, 1},
        Strides{80, 20, 3, 1}, Strides{80, 20, -3, 1}, Strides{80, 19, 4, 1}, Strides{79, 20, 4, 1},
        Strides{80, 20, 2, 3}}) {
    Call call;
    call.out.stride = stride;
    INFO("strides " << stride[0] << ", " << stride[1] << ", " << stride[2] << ", " << stride[3]);
    check_refused(call, {"out", "overlap"});
  }
  Call call;
  call.lse.stride = {20, 5, 0, 1};
  check_refused(call, {"lse", "overlap"});
}

TEST_CASE("overlap: out on top of an input, whole or in part") {
  for (const int which : {0, 1, 2})
    for (const std::int64_t shift : {0, 1, 20}) {
      Call call;
      const Tensor& input = which == 0 ? call.q : which == 1 ? call.k : call.v;
      call.out.data = const_cast<float*>(static_cast<const float*>(input.data)) + shift;
      const auto before = call.data.q.storage();
      const char* const names[] = {"q", "k", "v"};
      INFO("input " << names[which] << ", shift " << shift);
      check_refused(call, {"out", names[which]});
      CHECK(call.data.q.storage() == before);
    }
}

TEST_CASE("overlap: lse on top of another array") {
  Call out, q;
  out.lse.data = static_cast<float*>(out.out.data) + 100;
  check_refused(out, {"lse", "out"});
  q.lse.data = const_cast<void*>(q.q.data);
  check_refused(q, {"lse", "q"});
}

TEST_CASE("overlap: out between the rows of an input with other strides, judged by ranges") {
  Call call;
  std::vector<float> both(2 * 4 * 5 * 16);
  call.q.data = both.data();
  call.q.stride = {320, 80, 16, 1};
  call.out.data = both.data() + 8;
  call.out.stride = {320, 80, 16, 2};
  check_refused(call, {"out", "q"});
}

TEST_CASE("overlap: arrays that touch but do not overlap are fine") {
  const Shape shape{.n_q = 5, .n_k = 5, .d = 4, .d_v = 4};
  const auto p = random_problem<float>(shape, test_seed());
  std::vector<float> memory(20 + 20 + 5);
  std::copy_n(p.q.storage().begin(), 20, memory.begin());
  attend(
      lookback::matrix<const float>(memory.data(), 5, 4), p.k.view(), p.v.view(),
      {lookback::matrix(memory.data() + 20, 5, 4), lookback::per_row(memory.data() + 40, 1, 1, 5)});
  const auto expected = p.run();
  for (std::size_t i = 0; i < 20; ++i) CHECK(memory[20 + i] == expected.out.storage()[i]);
}

TEST_CASE("overlap: slots of one fused array, innermost and outermost") {
  INFO("seed " << test_seed());
  const Shape shape{.n_q = 9, .n_k = 9, .d = 8, .d_v = 8, .B = 2, .H = 3, .H_kv = 3};
  const std::int64_t row = 3 * 8;
  // [B, n, 4, H, d]: q, k, v and out beside each other in every row.
  check_fused({9 * 4 * row, 8, 4 * row, 1}, {0, row, 2 * row, 3 * row}, 2 * 9 * 4 * row, shape);
  // [B, n, H, 4, d]: beside each other in every head of every row.
  check_fused({9 * 4 * row, 32, 4 * row, 1}, {0, 8, 16, 24}, 2 * 9 * 4 * row, shape);
  // [B, n, H, d, 4]: interleaved feature by feature, out first.
  check_fused({9 * 4 * row, 32, 4 * row, 4}, {1, 2, 3, 0}, 2 * 9 * 4 * row, shape);
  // [4, B, n, H, d]: one after the other.
  check_fused({9 * row, 8, row, 1}, {0, 2 * 9 * row, 4 * 9 * row, 6 * 9 * row}, 2 * 9 * 4 * row,
              shape);
}

TEST_CASE("overlap: slots of one array that are not disjoint are an error") {
  // [n, 4, d] with out shifted by half a slot.
  Call call({.n_q = 5, .n_k = 5, .d = 4, .d_v = 4});
  std::vector<float> fused(5 * 4 * 4);
  const lookback::Extents extent{1, 1, 5, 4};
  const Strides stride{80, 80, 16, 1};
  call.q = lookback::strided<const float>(fused.data(), extent, stride);
  call.k = lookback::strided<const float>(fused.data() + 4, extent, stride);
  call.v = lookback::strided<const float>(fused.data() + 8, extent, stride);
  call.out = lookback::strided(fused.data() + 10, extent, stride);
  check_refused(call, {"out", "v"});
  call.out = lookback::strided(fused.data() + 12, extent, stride);
  CHECK_NOTHROW(call.run());
}
