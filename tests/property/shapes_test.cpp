// Random shapes, grouped heads and lengths around the key blocks, against the reference.
#include "catch.hpp"
#include "support/problem.hpp"

using namespace lookback::test;
using lookback::Position;

namespace {

constexpr std::int64_t kSlowdown = LOOKBACK_TEST_SANITIZED ? 5 : 1;

Position random_position(Random& random, std::int64_t n_q, std::int64_t n_k) {
  switch (random.integer(0, 3)) {
    case 0:
      return Position::top_left();
    case 1:
      return Position::bottom_right();
    default:
      return Position::at(random.integer(-n_q - 2, n_k + 2));
  }
}

/// Everything at once: shape, heads, layout, position, scale and temperature.
template <class T>
Problem<T> any_problem(Random& random) {
  Shape shape{.n_q = random.integer(1, 40),
              .n_k = random.integer(1, 200),
              .d = random.integer(1, 80),
              .d_v = random.integer(1, 80)};
  shape.B = random.integer(1, 3);
  shape.H_kv = random.integer(1, 3);
  shape.H = shape.H_kv * random.integer(1, 4);
  const auto layout = kLayouts[static_cast<std::size_t>(random.integer(0, kLayouts.size() - 1))];
  Problem<T> problem = random_problem<T>(shape, random.bits(), layout);
  if (random.integer(0, 1) == 1) {
    problem.options.causal = true;
    problem.options.position = random_position(random, shape.n_q, shape.n_k);
  }
  if (random.integer(0, 1) == 1) problem.options.scale = random.symmetric(0.5);
  if (random.integer(0, 1) == 1) problem.options.temperature = 0.25 + random.unit() * 3;
  return problem;
}

Shape shape_of(const auto& p) {
  return {.n_q = p.q.extent(2),
          .n_k = p.k.extent(2),
          .d = p.q.extent(3),
          .d_v = p.v.extent(3),
          .B = p.q.extent(0),
          .H = p.q.extent(1),
          .H_kv = p.k.extent(1)};
}

}  // namespace

TEMPLATE_TEST_CASE("shapes: random shapes, layouts and options", "", float, double) {
  INFO("seed " << test_seed());
  Random random(test_seed());
  for (int draw = 0; draw < 60 / kSlowdown; ++draw) {
    const auto problem = any_problem<TestType>(random);
    INFO("draw " << draw << ": " << shape_of(problem));
    check_against_reference(problem);
  }
}

TEMPLATE_TEST_CASE("shapes: lengths around powers of two and several chunks", "", float, double) {
  INFO("seed " << test_seed());
  for (const std::int64_t n_k :
       {127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1025, 1537, 2600})
    for (const std::int64_t n_q : {1, 3, 18}) {
      const Shape shape{.n_q = n_q, .n_k = n_k, .d = 13, .d_v = 6};
      INFO(shape);
      check_against_reference(random_problem<TestType>(shape, test_seed() + std::uint64_t(n_k)));
    }
}

TEST_CASE("shapes: extents of real models") {
  INFO("seed " << test_seed());
  for (const Shape& shape :
       {Shape{.n_q = 33, .n_k = 150, .d = 64, .d_v = 64, .B = 1, .H = 2, .H_kv = 2},
        Shape{.n_q = 40, .n_k = 90, .d = 128, .d_v = 128, .B = 1, .H = 4, .H_kv = 1},
        Shape{.n_q = 20, .n_k = 70, .d = 192, .d_v = 128},
        Shape{.n_q = 2, .n_k = 700, .d = 576, .d_v = 512},
        Shape{.n_q = 9, .n_k = 30, .d = 1000, .d_v = 3}}) {
    INFO(shape);
    check_against_reference(random_problem<float>(shape, test_seed()));
  }
}

TEMPLATE_TEST_CASE("grouped heads: equal to K and V repeated by hand", "", float, double) {
  INFO("seed " << test_seed());
  for (const std::int64_t group : {2, 3, 6, 7, 8}) {
    for (const std::int64_t H_kv : {1, 3}) {
      const Shape shape{
          .n_q = 4, .n_k = 21, .d = 9, .d_v = 5, .B = 2, .H = group * H_kv, .H_kv = H_kv};
      INFO(shape);
      const auto grouped = random_problem<TestType>(shape, test_seed());
      check_against_reference(grouped);
      Shape wide = shape;
      wide.H_kv = shape.H;
      Problem<TestType> repeated(wide);
      repeated.q = grouped.q;
      repeated.k.for_each_place([&](auto b, auto h, auto i, auto c) {
        repeated.k.at(b, h, i, c) = grouped.k.at(b, h / group, i, c);
      });
      repeated.v.for_each_place([&](auto b, auto h, auto i, auto c) {
        repeated.v.at(b, h, i, c) = grouped.v.at(b, h / group, i, c);
      });
      on_every_target([&] { CHECK(bit_difference(grouped.run(), repeated.run()) == ""); });
    }
  }
}
