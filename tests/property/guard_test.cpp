// Nothing is read or written beside the arrays: pages that crash, and fences that must stand.
#include <algorithm>
#include <cstring>
#include <memory>

#include "catch.hpp"
#include "support/guard.hpp"
#include "support/problem.hpp"

using namespace lookback::test;

namespace {

template <class T>
void run_between_guards(const Problem<T>& p, typename Guarded<T>::Edge edge, int threads) {
  const auto [B, H, n_q, d] = p.q.extent();
  const auto [B_k, H_kv, n_k, d_k] = p.k.extent();
  const std::int64_t d_v = p.v.extent(3);
  const auto guarded = [edge](const Array<T>& from) {
    auto memory = std::make_unique<Guarded<T>>(from.storage().size(), edge);
    std::memcpy(memory->data(), from.storage().data(), from.storage().size() * sizeof(T));
    return memory;
  };
  const auto q = guarded(p.q), k = guarded(p.k), v = guarded(p.v);
  const auto count = [](std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t e) {
    return static_cast<std::size_t>(a * b * c * e);
  };
  Guarded<T> out(count(B, H, n_q, d_v), edge), lse(count(B, H, n_q, 1), edge);
  lookback::Options options = p.options;
  options.threads = threads;
  attend(
      lookback::heads_first<const T>(q->data(), B, H, n_q, d),
      lookback::heads_first<const T>(k->data(), B_k, H_kv, n_k, d_k),
      lookback::heads_first<const T>(v->data(), B_k, H_kv, n_k, d_v),
      {lookback::heads_first(out.data(), B, H, n_q, d_v), lookback::per_row(lse.data(), B, H, n_q)},
      options);
  const auto expected = p.run();
  Difference found;
  std::size_t at = 0;
  expected.out.for_each_place([&](auto b, auto h, auto i, auto c) {
    const T a = out.data()[at++], e = expected.out.at(b, h, i, c);
    found.expect(same_bits(a, e), a, e, b, h, i, c);
  });
  CHECK(found.text() == "");
}

}  // namespace

TEMPLATE_TEST_CASE("guard pages: no read or write past either end of any array", "", float,
                   double) {
  INFO("seed " << test_seed());
  using Edge = typename Guarded<TestType>::Edge;
  Random random(test_seed());
  for (int draw = 0; draw < 70; ++draw) {
    Shape shape{.n_q = random.integer(1, 36),
                .n_k = random.integer(1, 80),
                .d = random.integer(1, 40),
                .d_v = random.integer(1, 40)};
    shape.H_kv = random.integer(1, 2);
    shape.H = shape.H_kv * random.integer(1, 2);
    auto p = random_problem<TestType>(shape, random.bits());
    p.options = causal_at(lookback::Position::at(random.integer(0, 90)));
    INFO("draw " << draw << ": " << shape);
    on_every_target([&] {
      for (const Edge edge : {Edge::front, Edge::back}) run_between_guards(p, edge, 1 + draw % 2);
    });
  }
}

TEMPLATE_TEST_CASE("guard pages: every width of q and v at the end of memory", "", float, double) {
  INFO("seed " << test_seed());
  using Edge = typename Guarded<TestType>::Edge;
  for (std::int64_t n = 1; n <= 70; ++n) {
    INFO("width " << n);
    const auto few = random_problem<TestType>(Shape{2, 17, n, 71 - n}, test_seed());
    const auto many = random_problem<TestType>(Shape{19, 33, n, 71 - n}, test_seed());
    on_every_target([&] {
      run_between_guards(few, Edge::back, 1);
      run_between_guards(many, Edge::back, 1);
    });
  }
}

TEST_CASE("B39 tail writes leave the fences between rows and heads alone") {
  INFO("seed " << test_seed());
  constexpr float kFence = -12345.5f;
  const Shape shape{.n_q = 3, .n_k = 21, .d = 10, .d_v = 21, .B = 1, .H = 4, .H_kv = 1};
  const auto p = random_problem<float>(shape, test_seed());
  on_every_target([&] {
    const auto expected = p.run();
    for (const int threads : {2, 8})
      for (int turn = 0; turn < 200; ++turn) {
        Array<float> out({1, 4, 3, 21}, Layout::padded_rows);
        Array<float> lse({1, 4, 3, 1}, Layout::padded_rows);
        for (auto* array : {&out, &lse})
          std::fill(array->storage().begin(), array->storage().end(), kFence);
        lookback::Options options;
        options.threads = threads;
        attend(p.q.view(), p.k.view(), p.v.view(), {out.output(), lse.output()}, options);
        std::size_t fences = 0;
        for (auto* array : {&out, &lse})
          for (const float x : array->storage()) fences += x == kFence;
        // Eleven gaps of five in each; the last row has none behind it.
        if (fences != 2 * 11 * 5) FAIL("fences left: " << fences);
        if (bit_difference(Result<float>{out, lse}, expected) != "") FAIL("turn " << turn);
      }
    SUCCEED();
  });
}
