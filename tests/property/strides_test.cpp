// Views: any strides in the inputs and the outputs give the same bits as compact arrays.
#include <cmath>

#include "catch.hpp"
#include "support/problem.hpp"

using namespace lookback::test;
using lookback::Strides;

namespace {

/// Few rows and many, short and more than one key block, with grouped heads.
const Shape kShapes[] = {{.n_q = 3, .n_k = 40, .d = 7, .d_v = 5, .B = 2, .H = 4, .H_kv = 2},
                         {.n_q = 50, .n_k = 150, .d = 33, .d_v = 18, .B = 2, .H = 2, .H_kv = 2},
                         {.n_q = 1, .n_k = 700, .d = 16, .d_v = 16, .B = 1, .H = 4, .H_kv = 1}};

}  // namespace

TEMPLATE_TEST_CASE("strides: every layout of q, k and v gives the same bits", "", float, double) {
  INFO("seed " << test_seed());
  for (const Shape& shape : kShapes) {
    const auto compact = random_problem<TestType>(shape, test_seed());
    on_every_target([&] {
      const auto expected = compact.run();
      for (const Layout layout : kLayouts) {
        for (const int which : {0, 1, 2}) {
          auto p = compact;
          Array<TestType>& array = which == 0 ? p.q : which == 1 ? p.k : p.v;
          array = array.with_layout(layout);
          INFO(shape << ", layout " << static_cast<int>(layout) << ", array " << which);
          CHECK(bit_difference(p.run(), expected) == "");
        }
      }
    });
  }
}

TEMPLATE_TEST_CASE("strides: every layout of out and lse gives the same bits", "", float, double) {
  INFO("seed " << test_seed());
  for (const Shape& shape : kShapes) {
    const auto compact = random_problem<TestType>(shape, test_seed());
    on_every_target([&] {
      const auto expected = compact.run();
      for (const Layout layout : kLayouts) {
        INFO(shape << ", layout " << static_cast<int>(layout));
        CHECK(bit_difference(compact.run(layout), expected) == "");
      }
    });
  }
}

TEMPLATE_TEST_CASE("strides: 0 in any input axis repeats that element", "", float, double) {
  INFO("seed " << test_seed());
  const Shape shape{.n_q = 20, .n_k = 70, .d = 6, .d_v = 5, .B = 2, .H = 2, .H_kv = 2};
  const auto compact = random_problem<TestType>(shape, test_seed());
  for (const int which : {0, 1, 2})
    for (std::size_t axis = 0; axis < 4; ++axis) {
      auto view = compact, copy = compact;
      const auto of = [&](auto& p) -> auto& {
        return which == 0 ? p.q : which == 1 ? p.k : p.v;
      };
      Strides stride = of(view).view().stride;
      stride[axis] = 0;
      of(view) = of(compact).with_strides(stride);  // the last of the elements stays
      of(copy).for_each_place([&](auto b, auto h, auto i, auto c) {
        of(copy).at(b, h, i, c) = of(view).at(b, h, i, c);
      });
      INFO("array " << which << ", axis " << axis);
      on_every_target([&] { CHECK(bit_difference(view.run(), copy.run()) == ""); });
    }
}

TEST_CASE("strides: rows a multiple of 4 KiB apart give the same bits") {
  INFO("seed " << test_seed());
  const auto compact = random_problem<float>(Shape{9, 130, 64, 64}, test_seed());
  for (const std::int64_t row : {1024, 2048, 1025}) {
    const Strides stride{row * 130, row * 130, row, 1};
    Problem<float> p(compact.q.with_strides(stride), compact.k.with_strides(stride),
                     compact.v.with_strides(stride));
    INFO("row stride " << row);
    on_every_target([&] { CHECK(bit_difference(p.run(), compact.run()) == ""); });
  }
}

TEST_CASE("strides: an array may serve as q, k and v at once") {
  INFO("seed " << test_seed());
  const auto base = random_problem<float>(Shape{30, 30, 8, 8}, test_seed());
  const Problem<float> copies(base.q, base.q, base.q);
  on_every_target([&] {
    Result<float> shared{Array<float>({1, 1, 30, 8}), Array<float>({1, 1, 30, 1})};
    attend(base.q.view(), base.q.view(), base.q.view(), {shared.out.output(), shared.lse.output()});
    CHECK(bit_difference(shared, copies.run()) == "");
  });
}

TEST_CASE("strides: data that only its element type aligns") {
  INFO("seed " << test_seed());
  const auto compact = random_problem<float>(Shape{17, 90, 24, 20}, test_seed());
  on_every_target([&] {
    const auto expected = compact.run();
    for (std::size_t shift = 1; shift < 16; ++shift) {
      const auto moved = [shift](const Array<float>& from) {
        std::vector<float> data(shift);
        from.for_each_place(
            [&](auto b, auto h, auto i, auto c) { data.push_back(from.at(b, h, i, c)); });
        return data;
      };
      const auto q = moved(compact.q), k = moved(compact.k), v = moved(compact.v);
      Array<float> out({1, 1, 17, 20}), lse({1, 1, 17, 1});
      std::vector<float> far(shift + 17 * 20);
      attend(lookback::matrix(q.data() + shift, 17, 24), lookback::matrix(k.data() + shift, 90, 24),
             lookback::matrix(v.data() + shift, 90, 20),
             {lookback::matrix(far.data() + shift, 17, 20), lse.output()});
      for (std::int64_t i = 0; i < 17 * 20; ++i)
        out.at(0, 0, i / 20, i % 20) = far[shift + static_cast<std::size_t>(i)];
      CHECK(bit_difference(Result<float>{out, lse}, expected) == "");
    }
  });
}
