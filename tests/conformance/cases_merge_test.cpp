// CASES.md: merging results over disjoint keys, empty ones among them.
#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "support/cases.hpp"
#include "support/every_path.hpp"
#include "support/options_reference.hpp"

using namespace lookback::test;
using lookback::Extents;
using lookback::Outputs;
using lookback::Part;
using lookback::Type;

namespace {

constexpr double kInf = INFINITY;

template <class T>
Result<T> empty_result(const Extents& extent) {
  Result<T> r{Array<T>(extent), Array<T>({extent[0], extent[1], extent[2], 1})};
  r.out.fill_value(0);
  r.lse.fill_value(T(-kInf));
  return r;
}

template <class T>
Result<T> merged(const std::vector<const Result<T>*>& results) {
  std::vector<Part> parts;
  for (const auto* r : results) parts.push_back({r->out.view(), r->lse.view()});
  Result<T> whole{Array<T>(results[0]->out.extent()), Array<T>(results[0]->lse.extent())};
  merge(parts, {whole.out.output(), whole.lse.output()});
  return whole;
}

/// The result over keys [first, first + count) alone.
template <class T>
Result<T> over_keys(const Problem<T>& p, std::int64_t first, std::int64_t count, int threads = 1) {
  Problem<T> part(p.q, p.k.rows(first, count), p.v.rows(first, count), p.options);
  return part.run_on_threads(threads);
}

/// In units of the type's last place, relative to the size of what was merged.
template <class T>
std::string merge_difference(const Result<T>& actual, const Result<T>& expected, Real units) {
  const Real tolerance = units * std::numeric_limits<T>::epsilon();
  Difference found;
  const auto compare = [&](const Array<T>& a, const Array<T>& e, const char* name) {
    a.for_each_place([&](auto b, auto h, auto i, auto c) {
      const Real x = a.at(b, h, i, c), y = e.at(b, h, i, c);
      found.expect(close(x, y, tolerance * std::fmax(4, std::fabs(y))), x, y, name, b, h, i, c);
    });
  };
  compare(actual.out, expected.out, "out");
  compare(actual.lse, expected.lse, "lse");
  return found.text();
}

using Cut = std::vector<std::int64_t>;

}  // namespace

TEMPLATE_TEST_CASE("B48 the neutral element: (0, -inf) changes nothing, on either side", "", float,
                   double) {
  auto p = filled_problem<TestType>(Shape{2, 13, 4, 4});
  p.options.scale = 0.5;
  on_every_target([&] {
    const auto a = p.run(), none = empty_result<TestType>({1, 1, 2, 4});
    CHECK(bit_difference(merged<TestType>({&none, &none}), none) == "");
    CHECK(bit_difference(merged<TestType>({&a, &none}), a) == "");
    CHECK(bit_difference(merged<TestType>({&none, &a}), a) == "");
    CHECK(bit_difference(merged<TestType>({&none, &none, &a, &none}), a) == "");
    CHECK(bit_difference(merged<TestType>({&a}), a) == "");
    // What an empty part holds besides its lse is not looked at.
    auto poisoned = none;
    poisoned.out.fill_value(TestType(NAN));
    CHECK(bit_difference(merged<TestType>({&poisoned, &a, &poisoned}), a) == "");
  });
}

TEMPLATE_TEST_CASE("B48 no parts at all, and no keys at all, make an empty result", "", float,
                   double) {
  const auto none = empty_result<TestType>({1, 1, 3, 2});
  auto whole = none;
  whole.out.fill_value(7);
  whole.lse.fill_value(7);
  lookback::merge({}, {whole.out.output(), whole.lse.output()});
  CHECK(bit_difference(whole, none) == "");
  // B49: the lse of a call without keys is what merge takes as neutral.
  const Problem<TestType> no_keys(Shape{3, 0, 4, 2});
  const auto some = random_problem<TestType>(Shape{3, 20, 4, 2}, test_seed()).run();
  for_every_path([&](const auto&, int threads) {
    const auto r = no_keys.run_on_threads(threads);
    CHECK(bit_difference(r, none) == "");
    CHECK(bit_difference(merged<TestType>({&r, &some}), some) == "");
  });
}

TEST_CASE("B48 the numbers of the case, cut in every way and merged in every order") {
  auto p = filled_problem<float>(Shape{1, 13, 4, 4});
  p.options.scale = 0.5;
  const auto check = [](const Result<float>& r) {
    CHECK(row_difference(r.out, 0, 0, std::array{-0.4629066, -0.1972195, -0.2656385, 0.0226411}) ==
          "");
    CHECK(near(r.lse.at(0, 0, 0, 0), 2.5817153L));
  };
  for (const Cut& cut : {Cut{10, 3}, Cut{13, 0}, Cut{0, 13}, Cut{4, 4, 4, 1}})
    for_every_path([&](const auto&, int threads) {
      std::vector<Result<float>> parts;
      std::vector<std::size_t> order;
      std::int64_t first = 0;
      for (const std::int64_t count : cut) {
        order.push_back(parts.size());
        parts.push_back(over_keys(p, first, count, threads));
        first += count;
      }
      do {
        std::vector<const Result<float>*> ordered;
        for (const std::size_t part : order) ordered.push_back(&parts[part]);
        check(merged(ordered));
      } while (std::next_permutation(order.begin(), order.end()));
    });
  const auto a = over_keys(p, 0, 10), b = over_keys(p, 10, 3);
  CHECK(row_difference(a.out, 0, 0, std::array{-0.2953232, -0.2553947, -0.6522905, -0.5828237}) ==
        "");
  CHECK(near(a.lse.at(0, 0, 0, 0), 2.3136428L));
  CHECK(row_difference(b.out, 0, 0, std::array{-1.007996, -0.0079961, 0.9920039, 1.992004}) == "");
  CHECK(near(b.lse.at(0, 0, 0, 0), 1.1341737L));
}

TEMPLATE_TEST_CASE("B48 two parts commute to the bit, three associate to rounding", "", float,
                   double) {
  INFO("seed " << test_seed());
  const Shape shape{.n_q = 19, .n_k = 900, .d = 6, .d_v = 17, .B = 2, .H = 3, .H_kv = 3};
  auto p = random_problem<TestType>(shape, test_seed());
  const auto whole = p.run();
  for (const std::int64_t cut : {1, 450, 512, 899}) {
    const auto a = over_keys(p, 0, cut), b = over_keys(p, cut, 900 - cut);
    SameBits<Result<TestType>> bits;
    for (const auto& target : supported_targets()) {
      const TargetScope scope(target.name);
      INFO("cut " << cut << ", target " << target.name);
      const auto ab = merged<TestType>({&a, &b});
      CHECK(bit_difference(ab, merged<TestType>({&b, &a})) == "");
      CHECK(merge_difference(ab, whole, 64) == "");
      CHECK(bits.difference(target, ab, [](const auto& x, const auto& y) {
        return bit_difference(x, y);
      }) == "");
    }
  }
  const auto a = over_keys(p, 0, 300), b = over_keys(p, 300, 300), c = over_keys(p, 600, 300);
  const auto ab = merged<TestType>({&a, &b}), bc = merged<TestType>({&b, &c});
  CHECK(merge_difference(merged<TestType>({&ab, &c}), merged<TestType>({&a, &bc}), 16) == "");
  CHECK(merge_difference(merged<TestType>({&a, &b, &c}), merged<TestType>({&ab, &c}), 16) == "");
}

TEMPLATE_TEST_CASE("B48 rows that are empty in one part only, and in both", "", float, double) {
  INFO("seed " << test_seed());
  auto p = random_problem<TestType>(Shape{20, 60, 4, 3}, test_seed());
  // Row 3 sees only the first part, row 5 only the second, row 7 neither.
  const StoredArray mask = boolean_array({1, 1, 20, 60}, [](auto, auto, auto i, auto j) {
    return i != 7 && (i != 3 || j < 25) && (i != 5 || j >= 25);
  });
  p.options.mask = mask.view();
  const auto part = [&](std::int64_t first, std::int64_t count) {
    Problem<TestType> keys(p.q, p.k.rows(first, count), p.v.rows(first, count));
    lookback::Tensor columns = mask.view();
    columns.data = place_of(mask.view(), 0, 0, 0, first);
    columns.extent[3] = count;
    keys.options.mask = columns;
    return keys;
  };
  const auto left = part(0, 25), right = part(25, 35);
  for_every_path([&](const auto&, int threads) {
    const auto a = left.run_on_threads(threads), b = right.run_on_threads(threads);
    const auto whole = p.run_on_threads(threads), ab = merged<TestType>({&a, &b});
    CHECK(merge_difference(ab, whole, 32) == "");
    CHECK(ab.lse.at(0, 0, 7, 0) == TestType(-kInf));
    CHECK(bit_difference(ab.out.rows(3, 1), a.out.rows(3, 1)) == "");
    CHECK(bit_difference(ab.out.rows(5, 1), b.out.rows(5, 1)) == "");
  });
}

TEMPLATE_TEST_CASE("B48 a sink belongs to one part", "", float, double) {
  INFO("seed " << test_seed());
  const double sinks[] = {0.75};
  auto p = random_problem<TestType>(Shape{9, 50, 4, 3}, test_seed());
  auto with_sink = p;
  with_sink.options.sinks = sinks;
  const OptionsExpected<TestType> expected(with_sink);
  for_every_path([&](const auto&, int threads) {
    const auto a = over_keys(with_sink, 0, 20, threads), b = over_keys(p, 20, 30, threads);
    const auto none = over_keys(with_sink, 0, 0, threads), all = p.run_on_threads(threads);
    const auto whole = with_sink.run_on_threads(threads);
    CHECK(merge_difference(merged<TestType>({&a, &b}), whole, 32) == "");
    CHECK(merge_difference(merged<TestType>({&none, &all}), whole, 32) == "");
    CHECK(expected.difference_from(whole) == "");
  });
}

TEMPLATE_TEST_CASE("B48 lse far apart and at the ends of the type", "", float, double) {
  const TestType low = std::numeric_limits<TestType>::lowest();
  const auto part = [](TestType out, TestType lse) {
    auto r = empty_result<TestType>({1, 1, 1, 1});
    r.out.fill_value(out);
    r.lse.fill_value(lse);
    return r;
  };
  const auto value = [](const Result<TestType>& r) { return r.out.at(0, 0, 0, 0); };
  const auto lse = [](const Result<TestType>& r) { return r.lse.at(0, 0, 0, 0); };
  on_every_target([&] {
    const auto small = part(5, low), same = part(7, low), large = part(3, 240000);
    const auto nan = part(TestType(NAN), 1), nan_lse = part(1, TestType(NAN));
    CHECK(value(merged<TestType>({&small, &large})) == 3);
    CHECK(lse(merged<TestType>({&small, &large})) == 240000);
    CHECK(value(merged<TestType>({&small, &same})) == 6);
    CHECK(std::isfinite(lse(merged<TestType>({&small, &same}))));
    CHECK(std::isnan(value(merged<TestType>({&nan, &small}))));
    CHECK(lse(merged<TestType>({&nan, &small})) == 1);
    CHECK(std::isnan(value(merged<TestType>({&nan_lse, &small}))));
    CHECK(std::isnan(lse(merged<TestType>({&small, &nan_lse}))));
  });
}

TEST_CASE("B48 parts in 16 bits and in any layout") {
  INFO("seed " << test_seed());
  const auto p = random_problem<float>(Shape{7, 40, 4, 5}, test_seed());
  const auto a = over_keys(p, 0, 15), b = over_keys(p, 15, 25);
  for (const Type type : {Type::bfloat16, Type::float16})
    for (const Layout layout : kLayouts) {
      const StoredArray narrow = stored_as(type, a.out.view());
      const Array<float> wide_b = b.out.with_layout(layout), lse_b = b.lse.with_layout(layout);
      Array<float> widened(a.out.extent());
      widened.for_each_place([&](auto x, auto h, auto i, auto c) {
        widened.at(x, h, i, c) = static_cast<float>(narrow.at(x, h, i, c));
      });
      const Result<float> wide_a{widened, a.lse};
      on_every_target([&] {
        const auto expected = merged<float>({&wide_a, &b});
        const Part parts[] = {{narrow.view(), a.lse.view()}, {wide_b.view(), lse_b.view()}};
        Result<float> r{Array<float>(a.out.extent(), layout), Array<float>(a.lse.extent(), layout)};
        merge(parts, {r.out.output(), r.lse.output()});
        CHECK(bit_difference(r, expected) == "");
        StoredArray rounded(type, a.out.extent());
        merge(parts, Outputs{rounded.output()});
        const StoredArray once = stored_as(type, expected.out.view());
        rounded.for_each_place([&](auto x, auto h, auto i, auto c) {
          CHECK(rounded.at(x, h, i, c) == once.at(x, h, i, c));
        });
      });
    }
}
