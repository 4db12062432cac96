// The laws of merge: (out, lse) parts are a commutative monoid with (0, -inf) as neutral element.
#include <cmath>
#include <limits>

#include <optional>
#include "catch.hpp"
#include "lookback/merge.hpp"
#include "support/any_problem.hpp"
#include "support/any_random.hpp"
#include "support/targets.hpp"

using namespace lookback::test;
using lookback::Extents;
using lookback::Type;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr Type kTypes[] = {Type::float32, Type::float64, Type::bfloat16, Type::float16};

Type lse_type(Type out) {
  return out == Type::float64 ? out : Type::float32;
}

Results merged(std::initializer_list<const Results*> parts, Type type, Random* random = nullptr) {
  const Extents extent = (*parts.begin())->out.extent();
  Extents rows = extent;
  rows[3] = 1;
  Results whole{AnyArray(type, extent), AnyArray(lse_type(type), rows)};
  if (random) {
    whole = {AnyArray(type, extent, RandomProblem::strides(*random, extent, false)),
             AnyArray(lse_type(type), rows, RandomProblem::strides(*random, rows, false))};
  }
  std::vector<lookback::Part> views;
  for (const Results* part : parts) views.push_back({part->out.view(), part->lse.view()});
  lookback::merge(views, {whole.out.output(), whole.lse.output()});
  return whole;
}

/// Rows of all kinds: near and far from each other, some of them empty with rubbish in their out.
Results random_part(Random& random, Type type, const Extents& extent) {
  Extents rows = extent;
  rows[3] = 1;
  Results part{AnyArray(type, extent, RandomProblem::strides(random, extent, true)),
               AnyArray(lse_type(type), rows, RandomProblem::strides(random, rows, false))};
  part.out.fill([&] { return random.normal(); });
  part.lse.fill([&] {
    const auto kind = random.integer(0, 9);
    return kind == 0 ? -kInf : random.symmetric(kind == 1 ? 300 : kind == 2 ? 1e5 : 3);
  });
  return part;
}

Results empty_part(Type type, const Extents& extent, double out) {
  Extents rows = extent;
  rows[3] = 1;
  Results part{AnyArray(type, extent), AnyArray(lse_type(type), rows)};
  part.out.fill([&] { return out; });
  part.lse.fill([] { return -kInf; });
  return part;
}

Extents random_extent(Random& random) {
  return {random.integer(1, 2), random.integer(1, 3), random.integer(1, 9), random.integer(0, 150)};
}

/// The formula of merge.hpp in extended precision; error: each weight is off by (2 parts + 8) u
/// and 4 u |lse_p - m|, as in split_test.cpp. Merging what was merged before does so twice, and
/// rounds the lse between, which is 2 u |m|.
std::string formula_difference(const std::vector<const Results*>& parts, const Results& whole,
                               int nested = 0) {
  const Rounding u = rounding_of(whole.lse.type()), stored = rounding_of(whole.out.type());
  Difference found;
  whole.lse.for_each_place([&](auto b, auto h, auto i, auto) {
    Real m = -kInf, l = 0, off = 0;
    for (const Results* part : parts) m = std::fmax(m, part->lse.get(b, h, i, 0));
    std::vector<Real> weight, error;
    for (const Results* part : parts) {
      const Real lse = part->lse.get(b, h, i, 0);
      weight.push_back(lse == -kInf ? 0 : std::exp(lse - m));
      const Real sums = (1 + nested) * (2 * Real(parts.size()) + 8);
      error.push_back(u.relative * (4 * (m - lse) + sums + 2 * nested * std::fabs(m)));
      if (weight.back() == 0) error.back() = 0;
      l += weight.back();
      off += weight.back() * error.back();
    }
    const Real lse = m == -kInf ? m : m + std::log(l), actual = whole.lse.get(b, h, i, 0);
    found.expect(
        close(actual, lse, l == 0 ? 0 : 2 * off / l + u.relative * (2 * std::fabs(lse) + 4)),
        actual, lse, "lse", b, h, i);
    for (std::int64_t c = 0; c < whole.out.extent(3); ++c) {
      Real blend = 0;
      for (std::size_t p = 0; p < parts.size(); ++p)
        if (parts[p]->lse.get(b, h, i, 0) != -kInf)
          blend += weight[p] * parts[p]->out.get(b, h, i, c);
      if (l > 0) blend /= l;
      Real bound = 0x1p-126L;
      for (std::size_t p = 0; p < parts.size() && l > 0; ++p)
        if (weight[p] > 0)
          bound += 2 * weight[p] / l * error[p] *
                   (std::fabs(Real(parts[p]->out.get(b, h, i, c))) + std::fabs(blend));
      bound += stored.relative * (std::fabs(blend) + bound) + stored.absolute;
      const Real out = whole.out.get(b, h, i, c);
      found.expect(close(out, blend, bound), out, blend, "out", b, h, i, c);
    }
  });
  return found.text();
}

}  // namespace

TEST_CASE("merge: agrees with its formula, any types, strides and number of parts") {
  INFO("seed " << test_seed());
  Random random(test_seed());
  for (int draw = 0; draw < 300; ++draw) {
    const bool wide = draw % 4 == 1;
    const Extents extent = random_extent(random);
    const auto type = [&] { return wide ? Type::float64 : kTypes[random.integer(0, 2) * 3 % 4]; };
    std::vector<Results> parts;
    for (auto n = random.integer(1, 6); n > 0; --n)
      parts.push_back(random_part(random, type(), extent));
    std::vector<const Results*> pointers;
    std::vector<lookback::Part> views;
    for (const Results& part : parts) {
      pointers.push_back(&part);
      views.push_back({part.out.view(), part.lse.view()});
    }
    const Type out_type = type();
    INFO("draw " << draw << ", " << parts.size() << " parts into " << name_of(out_type));
    on_every_target([&] {
      Results whole = merged({&parts[0]}, out_type, &random);
      lookback::merge(views, {whole.out.output(), whole.lse.output()});
      const std::string found = formula_difference(pointers, whole);
      if (!found.empty()) FAIL_CHECK(found);
    });
  }
}

TEST_CASE("merge: two parts give the same bits in either order, and on every machine") {
  INFO("seed " << test_seed());
  Random random(test_seed() + 1);
  for (int draw = 0; draw < 400; ++draw) {
    const Type type = kTypes[draw % 4];
    const Extents extent = random_extent(random);
    const Results a = random_part(random, type, extent), b = random_part(random, type, extent);
    INFO("draw " << draw << ", " << name_of(type));
    std::optional<Results> first;
    for (const auto& target : supported_targets()) {
      INFO("target " << target.name);
      const TargetScope scope(target.name);
      const Results ab = merged({&a, &b}, type);
      CHECK(bit_difference(ab, merged({&b, &a}, type)) == "");
      if (!target.same_bits) continue;
      if (!first) first = ab;
      CHECK(bit_difference(ab, *first) == "");
    }
  }
}

TEST_CASE("merge: (0, -inf) changes no bit, whatever stands in its out") {
  INFO("seed " << test_seed());
  Random random(test_seed() + 2);
  for (int draw = 0; draw < 100; ++draw) {
    const Type type = kTypes[draw % 4];
    const Extents extent = random_extent(random);
    Results a = random_part(random, type, extent);
    // Ends of the range, NaN rows and infinite contexts included.
    a.lse.set(0, 0, 0, 0,
              type == Type::float64 ? std::numeric_limits<double>::lowest()
                                    : double(std::numeric_limits<float>::lowest()));
    const Extents last{extent[0] - 1, extent[1] - 1, extent[2] - 1, extent[3] - 1};
    if (draw % 2 == 0) a.lse.set(last[0], last[1], last[2], 0, kNaN);
    if (extent[3] > 0) a.out.set(0, 0, 0, last[3], draw % 3 == 0 ? kInf : 1e-7);
    INFO("draw " << draw << ", " << name_of(type));
    on_every_target([&] {
      const Results alone = merged({&a}, type);
      for (const double rubbish : {0.0, kNaN, kInf}) {
        const Results none = empty_part(type, extent, rubbish);
        CHECK(bit_difference(merged({&a, &none}, type), alone) == "");
        CHECK(bit_difference(merged({&none, &a}, type), alone) == "");
        CHECK(bit_difference(merged({&none, &a, &none, &none}, type), alone) == "");
      }
      alone.lse.for_each_place([&](auto b, auto h, auto i, auto) {
        const double lse = a.lse.get(b, h, i, 0);
        if (!same_bits(alone.lse.get(b, h, i, 0), lse)) FAIL_CHECK("lse of row " << i);
        for (std::int64_t c = 0; c < extent[3]; ++c) {
          const double out = std::isnan(lse) ? kNaN : lse == -kInf ? 0 : a.out.get(b, h, i, c);
          if (!same_bits(alone.out.get(b, h, i, c), out)) FAIL_CHECK("out of row " << i);
        }
      });
    });
  }
}

TEST_CASE("B48 merge: nothing and nothing is nothing, also from no parts at all") {
  for (const Type type : kTypes) {
    const Extents extent{2, 3, 4, 5};
    const Results none = empty_part(type, extent, 0), nan = empty_part(type, extent, kNaN);
    on_every_target([&] {
      CHECK(bit_difference(merged({&none, &nan}, type), none) == "");
      CHECK(bit_difference(merged({&nan}, type), none) == "");
      Results whole{AnyArray(type, extent), AnyArray(lse_type(type), {2, 3, 4, 1})};
      lookback::merge({}, {whole.out.output(), whole.lse.output()});
      CHECK(bit_difference(whole, none) == "");
      whole.out.fill_storage(kNaN);
      lookback::merge({}, whole.out.output());
      CHECK(bit_difference(whole.out, none.out) == "");
    });
  }
}

TEST_CASE("merge: in any grouping the same to rounding") {
  INFO("seed " << test_seed());
  Random random(test_seed() + 3);
  for (int draw = 0; draw < 200; ++draw) {
    const Type type = draw % 2 == 0 ? Type::float32 : Type::float64;
    const Extents extent = random_extent(random);
    const Results a = random_part(random, type, extent), b = random_part(random, type, extent),
                  c = random_part(random, type, extent);
    INFO("draw " << draw);
    on_every_target([&] {
      const Results ab = merged({&a, &b}, type), bc = merged({&b, &c}, type);
      for (const Results& whole : {merged({&ab, &c}, type), merged({&a, &bc}, type),
                                   merged({&a, &b, &c}, type), merged({&c, &a, &b}, type)}) {
        const std::string found = formula_difference({&a, &b, &c}, whole, 1);
        if (!found.empty()) FAIL_CHECK(found);
      }
    });
  }
}

TEST_CASE("merge: a NaN row is NaN in company, and only that row") {
  for (const Type type : kTypes) {
    const Extents extent{1, 1, 3, 4};
    Random random(test_seed());
    Results a = random_part(random, type, extent), b = random_part(random, type, extent);
    for (Results* part : {&a, &b}) part->lse.fill([&] { return random.symmetric(); });
    const Results before = merged({&a, &b}, type);
    a.lse.set(0, 0, 1, 0, kNaN);
    for (std::int64_t c = 0; c < 4; ++c) a.out.set(0, 0, 1, c, kNaN);
    on_every_target([&] {
      for (const Results& after : {merged({&a, &b}, type), merged({&b, &a}, type)}) {
        Results expected = before;
        expected.lse.set(0, 0, 1, 0, kNaN);
        for (std::int64_t c = 0; c < 4; ++c) expected.out.set(0, 0, 1, c, kNaN);
        CHECK(bit_difference(after, expected) == "");
      }
    });
  }
}
