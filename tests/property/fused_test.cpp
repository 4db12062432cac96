// q, k and v as slots of one fused array, as a projection leaves them, the output in a slot of its
// own: the same bits as arrays apart, and no slot but the output's is written.
#include "catch.hpp"
#include "support/any_random.hpp"
#include "support/paths.hpp"

using namespace lookback::test;
using lookback::Extents;
using lookback::OutputTensor;
using lookback::Strides;
using lookback::Tensor;
using lookback::Type;

namespace {

/// [B, n, slots, d] of one type. The first heads are q's, then k's, v's, and the output's.
class Fused {
 public:
  Fused(const AnyProblem& p, bool slots_inside)
      : p_(p), n_(p.q.extent(2)), d_(p.q.extent(3)), slots_(2 * p.H() + 2 * p.k.extent(1)) {
    const std::int64_t B = p.q.extent(0);
    // The slots of a token stand together, or all tokens of a slot.
    const Strides stride = slots_inside ? Strides{n_ * slots_ * d_, d_, slots_ * d_, 1}
                                        : Strides{slots_ * n_ * d_, n_ * d_, d_, 1};
    memory_ = AnyArray(p.q.type(), {B, slots_, n_, d_}, stride);
    copy(p.q, 0);
    copy(p.k, p.H());
    copy(p.v, p.H() + p.k.extent(1));
  }

  Results run(const lookback::Options& options) {
    const std::int64_t H = p_.H(), H_kv = p_.k.extent(1);
    const AnyArray before = memory_;
    Results results = p_.empty_results();
    const OutputTensor out = slots(H + 2 * H_kv, H);
    attend(slots(0, H), slots(H, H_kv), slots(H + H_kv, H_kv), {out, results.lse.output()},
           options);
    results.out.for_each_place([&](auto b, auto h, auto i, auto c) {
      results.out.set(b, h, i, c, memory_.get(b, H + 2 * H_kv + h, i, c));
    });
    const Extents inputs{memory_.extent(0), H + 2 * H_kv, n_, d_};
    CHECK(bit_difference(memory_.part({}, inputs), before.part({}, inputs)) == "");
    return results;
  }

 private:
  void copy(const AnyArray& from, std::int64_t slot) {
    from.for_each_place([&](auto b, auto h, auto i, auto c) {
      memory_.set(b, slot + h, i, c, from.get(b, h, i, c));
    });
  }
  OutputTensor slots(std::int64_t first, std::int64_t count) {
    OutputTensor t = memory_.output();
    t.extent[1] = count;
    t.data = memory_.bytes().data() + memory_.offset(0, first, 0, 0);
    return t;
  }

  const AnyProblem& p_;
  std::int64_t n_, d_, slots_;
  AnyArray memory_;
};

}  // namespace

TEST_CASE("fused: q, k, v and out in one array give the bits of arrays apart") {
  INFO("seed " << test_seed());
  Random random(test_seed());
  for (int draw = 0; draw < (LOOKBACK_TEST_SANITIZED ? 40 : 200); ++draw) {
    const Type type = static_cast<Type>(draw % 4);
    const std::int64_t H_kv = random.integer(1, 2), H = H_kv * random.integer(1, 3);
    const std::int64_t n = random.integer(1, draw % 8 == 0 ? 600 : 90), d = random.integer(1, 40);
    AnyProblem p(type, random.integer(1, 2), H, H_kv, n, n, d, d);
    for (AnyArray* array : {&p.q, &p.k, &p.v}) array->fill([&] { return random.normal(); });
    p.out_type = type;
    p.causal = random.integer(0, 1) == 1;
    if (p.q.extent(0) == 1 && random.integer(0, 1) == 1) p.q_bounds = {0, n / 3, n / 3, n};
    INFO("draw " << draw << ": " << p.text());
    on_every_target([&] {
      const PathScope scope(kPaths[std::size_t(draw / 4 % 5)]);
      const Results expected = p.run();
      for (const bool slots_inside : {true, false}) {
        Fused fused(p, slots_inside);
        lookback::Options options = p.options();
        options.threads = 1 + draw % 2;
        CHECK(bit_difference(fused.run(options), expected) == "");
      }
    });
  }
}

TEST_CASE("fused: the helpers for layouts view the same elements") {
  std::vector<float> data(2 * 3 * 5 * 7);
  for (std::size_t at = 0; at < data.size(); ++at) data[at] = static_cast<float>(at);
  const auto element = [](const Tensor& t, std::int64_t b, std::int64_t h, std::int64_t i,
                          std::int64_t c) {
    return static_cast<const float*>(
        t.data)[b * t.stride[0] + h * t.stride[1] + i * t.stride[2] + c * t.stride[3]];
  };
  const Tensor heads = lookback::heads_first(std::as_const(data).data(), 2, 3, 5, 7);
  const Tensor positions = lookback::positions_first(std::as_const(data).data(), 2, 5, 3, 7);
  const Tensor tokens = lookback::packed(std::as_const(data).data(), 10, 3, 7);
  CHECK(element(heads, 1, 2, 4, 6) == 209);
  CHECK(element(heads, 1, 1, 2, 3) == 1 * 105 + 1 * 35 + 2 * 7 + 3);
  CHECK(element(positions, 1, 1, 2, 3) == 1 * 105 + 2 * 21 + 1 * 7 + 3);
  CHECK(element(tokens, 0, 1, 7, 3) == 7 * 21 + 1 * 7 + 3);
  CHECK(tokens.extent == Extents{1, 3, 10, 7});
}
