// Views at their edges: rows that see nothing, NaN, ties, sinks, no rows, no keys, underflow.
#include <cmath>

#include "catch.hpp"
#include "support/expected_views.hpp"
#include "support/targets.hpp"

using namespace lookback::test;
using lookback::Heads;
using lookback::Pooling;
using lookback::Position;
using lookback::Stage;
using lookback::Type;
using lookback::Window;

namespace {

AnyProblem plain_problem(std::int64_t B, std::int64_t H, std::int64_t n_q, std::int64_t n_k,
                         Type type = Type::float32) {
  AnyProblem p(type, B, H, 1, n_q, n_k, 8, 4);
  Random random(test_seed());
  for (AnyArray* a : {&p.q, &p.k, &p.v}) a->fill([&] { return random.normal(); });
  return p;
}

template <class T>
void check_everything(const AnyProblem& p, Pooling pooling = Pooling::mean) {
  for (const Heads heads : {Heads::each, Heads::mean, Heads::max}) {
    ViewRequest request = ViewRequest::everything(p);
    request.heads = heads;
    request.pooling = pooling;
    INFO(request.text());
    ExpectedViews<T> expected(p, request);
    on_every_target([&] {
      const auto own = run_views<T>(p, all_weights(p, heads));
      const auto results = run_views<T>(p, request);
      CHECK(untouched_difference(results) == "");
      CHECK(expected.difference_from(results, *own.rows) == "");
    });
  }
}

/// The first 300 rows of problem() see nothing, the others up to 100 keys.
AnyProblem half_empty() {
  AnyProblem p = plain_problem(1, 2, 400, 100);
  p.causal = true;
  p.anchor = Position::Anchor::offset;
  p.one_offset = -300;
  return p;
}

}  // namespace

TEST_CASE("align: a row that sees nothing") {
  const AnyProblem p = half_empty();
  ViewRequest request = ViewRequest::everything(p);
  request.rows = {299, 0, 300};
  on_every_target([&] {
    const auto r = run_views<float>(p, request);
    for (const std::int64_t i : {0, 17, 191, 192, 299}) {
      INFO("row " << i);
      CHECK(r.entropy->at(0, 1, i, 0) == 0);
      CHECK(r.largest->at(0, 1, i, 0) == 0);
      CHECK(std::isnan(r.position->at(0, 1, i, 0)));
      CHECK(std::isnan(r.distance->at(0, 1, i, 0)));
      CHECK(r.lse->at(0, 1, i, 0) == -INFINITY);
      for (std::int64_t t = 0; t < 8; ++t) {
        CHECK(r.top_index->at(0, 1, i, t) == -1);
        CHECK(r.top_weight->at(0, 1, i, t) == 0);
      }
    }
    for (std::int64_t j = 0; j < 100; ++j) {
      CHECK(r.rows->at(0, 0, 0, j) == 0);
      CHECK_FALSE(std::signbit(r.rows->at(0, 0, 0, j)));
      CHECK(r.rows->at(0, 0, 2, j) == (j == 0 ? 1 : 0));
    }
    // Row 300 sees one key.
    CHECK(r.top_index->at(0, 0, 300, 0) == 0);
    CHECK(r.top_weight->at(0, 0, 300, 0) == 1);
    CHECK(r.top_index->at(0, 0, 300, 1) == -1);
    CHECK(r.entropy->at(0, 0, 300, 0) == 0);
    CHECK(r.position->at(0, 0, 300, 0) == 0);
    CHECK(r.distance->at(0, 0, 300, 0) == 0);
  });
  check_everything<float>(p);
  check_everything<float>(p, Pooling::max);
}

TEST_CASE("align: nothing is seen at all") {
  AnyProblem p = plain_problem(2, 2, 30, 40);
  p.lengths = std::vector<std::int64_t>{0, 0};
  check_everything<float>(p);
  ViewRequest request = ViewRequest::everything(p);
  const auto r = run_views<float>(p, request);
  CHECK(r.share->at(1, 1, 0, 0) == 0);
  CHECK(r.mass->at(1, 1, 3, 0) == 0);
  for (std::int64_t j = 0; j < 40; ++j) CHECK(r.received_sum->at(1, 0, j, 0) == 0);
}

TEST_CASE("align: no rows, no keys, no heads, no sequences, no features") {
  struct Sizes {
    std::int64_t B, H, n_q, n_k, d;
  };
  for (const Sizes s : {Sizes{1, 2, 0, 9, 4}, Sizes{1, 2, 9, 0, 4}, Sizes{0, 2, 9, 9, 4},
                        Sizes{1, 0, 9, 9, 4}, Sizes{1, 2, 9, 9, 0}, Sizes{1, 2, 0, 0, 4}}) {
    INFO("B " << s.B << ", H " << s.H << ", n_q " << s.n_q << ", n_k " << s.n_k << ", d " << s.d);
    AnyProblem p(Type::float32, s.B, s.H, 1, s.n_q, s.n_k, s.d, 2);
    for (AnyArray* a : {&p.q, &p.k, &p.v}) a->fill([] { return 0.5; });
    p.scale = 1;
    ViewRequest request = ViewRequest::everything(p);
    ExpectedViews<float> expected(p, request);
    on_every_target([&] {
      const auto own = run_views<float>(p, all_weights(p, Heads::each));
      const auto r = run_views<float>(p, request);
      CHECK(untouched_difference(r) == "");
      CHECK(expected.difference_from(r, *own.rows) == "");
    });
  }
}

TEST_CASE("align: equal weights, the lower index first") {
  for (const std::int64_t n : {1, 7, 64, 127, 128, 129, 300}) {
    AnyProblem p = plain_problem(1, 2, 5, n);
    p.q.fill([] { return 0; });
    for (const std::int64_t top : {1, 2, 63, 64}) {
      INFO(n << " keys, top " << top);
      ViewRequest request;
      request.top = top;
      on_every_target([&] {
        const auto r = run_views<float>(p, request);
        Difference found;
        for (std::int64_t t = 0; t < top; ++t) {
          const std::int64_t index = r.top_index->at(0, 1, 4, t), key = t < n ? t : -1;
          found.expect(index == key, Real(index), Real(key), t);
        }
        CHECK(found.text() == "");
      });
    }
  }
}

TEST_CASE("align: pairs of equal weights far apart, in ascending, descending and mixed order") {
  constexpr std::int64_t n = 260;
  for (int order = 0; order < 3; ++order) {
    AnyProblem p(Type::float32, 1, 1, 1, 3, n, 1, 1);
    p.scale = 1;
    p.q.fill([] { return 1; });
    // Every score comes twice, half of the keys apart.
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t level = j % (n / 2);
      const std::int64_t at = order == 0 ? level : order == 1 ? n - level : level * 37 % 130;
      p.k.set(0, 0, j, 0, static_cast<double>(at) / 64);
      p.v.set(0, 0, j, 0, 0);
    }
    ViewRequest request;
    request.top = 64;
    ExpectedViews<float> expected(p, request);
    on_every_target([&] {
      const auto own = run_views<float>(p, all_weights(p, Heads::each));
      CHECK(expected.difference_from(run_views<float>(p, request), *own.rows) == "");
    });
  }
}

TEST_CASE("align: a key whose weight underflows is seen, and has its place among the heaviest") {
  AnyProblem p(Type::float32, 1, 1, 1, 1, 4, 1, 1);
  p.scale = 1;
  p.q.fill([] { return 1; });
  for (std::int64_t j = 0; j < 4; ++j) p.k.set(0, 0, j, 0, j == 2 ? 0 : -300);
  p.v.fill([] { return 0; });
  p.lengths = std::vector<std::int64_t>{3};
  ViewRequest request = ViewRequest::everything(p);
  on_every_target([&] {
    const auto r = run_views<float>(p, request);
    constexpr std::int64_t index[] = {2, 0, 1, -1};
    for (std::int64_t t = 0; t < 4; ++t) {
      CHECK(r.top_index->at(0, 0, 0, t) == index[t]);
      CHECK(r.top_weight->at(0, 0, 0, t) == (t == 0 ? 1 : 0));
    }
    CHECK(r.entropy->at(0, 0, 0, 0) == 0);
    CHECK(r.position->at(0, 0, 0, 0) == 2);
  });
}

TEST_CASE("align: weights of a row sum to 1 less the sink's share") {
  AnyProblem p = plain_problem(1, 1, 70, 300);
  const double sinks[] = {-20, 0, 3, 40};
  for (const double sink : sinks) {
    INFO("sink " << sink);
    p.sinks = std::vector<double>{sink};
    check_everything<float>(p);
    const auto own = run_views<float>(p, all_weights(p, Heads::each));
    ViewRequest request;
    request.lse = true;
    const auto r = run_views<float>(p, request);
    for (std::int64_t i = 0; i < 70; ++i) {
      Real sum = 0;
      for (std::int64_t j = 0; j < 300; ++j) sum += own.rows->at(0, 0, i, j);
      const Real expected = 1 - std::exp(Real(sink) - r.lse->at(0, 0, i, 0));
      CHECK(std::fabs(sum - expected) < 1e-5L);
    }
  }
}

TEMPLATE_TEST_CASE("align: rows that hold NaN, wherever they stand", "", float, double) {
  const Type type = lookback::type_of<TestType>();
  for (const std::int64_t bad : {0, 5, 191, 192, 399}) {
    AnyProblem p = plain_problem(1, 3, 400, 140, type);
    p.causal = true;
    p.anchor = Position::Anchor::offset;
    p.one_offset = -20;
    for (const std::int64_t head : {0, 1, 2}) {
      INFO("row " << bad << " of head " << head);
      AnyProblem poisoned = p;
      poisoned.q.set(0, head, bad, 3, NAN);
      check_everything<TestType>(poisoned);
      check_everything<TestType>(poisoned, Pooling::max);
      if (LOOKBACK_TEST_SANITIZED) return;
    }
  }
}

TEST_CASE("align: keys that hold NaN reach the rows that see them, and no others") {
  for (const std::int64_t bad : {0, 63, 127, 128, 139}) {
    INFO("key " << bad);
    AnyProblem p = plain_problem(1, 2, 210, 140);
    p.window = Window{30, 2};
    p.anchor = Position::Anchor::offset;
    p.one_offset = -20;
    p.k.set(0, 0, bad, 7, NAN);
    check_everything<float>(p);
    check_everything<float>(p, Pooling::max);
  }
}

TEST_CASE("align: a score of +inf makes its row NaN") {
  AnyProblem p = plain_problem(1, 2, 20, 50);
  p.bias = AnyArray(Type::float32, {1, 2, 20, 50});
  p.bias->fill([] { return 0; });
  p.bias->set(0, 1, 7, 30, INFINITY);
  p.bias->set(0, 0, 3, 30, -INFINITY);
  check_everything<float>(p);
  check_everything<float>(p, Pooling::max);
}

TEST_CASE("align: pooled to more cells than anyone needs, and to one") {
  const AnyProblem p = plain_problem(1, 2, 231, 151);
  for (const auto& [R, C] : {std::pair{231, 151},
                             {1, 1},
                             {1, 151},
                             {231, 1},
                             {230, 150},
                             {116, 76},
                             {115, 75},
                             {2, 3}}) {
    for (const Pooling pooling : {Pooling::mean, Pooling::max}) {
      ViewRequest request;
      request.pooling = pooling;
      request.R = R;
      request.C = C;
      INFO(request.text());
      ExpectedViews<float> expected(p, request);
      on_every_target([&] {
        const auto own = run_views<float>(p, all_weights(p, Heads::each));
        CHECK(expected.difference_from(run_views<float>(p, request), *own.rows) == "");
      });
    }
  }
}

TEST_CASE("align: a region is the same cells as the whole, where they are one place each") {
  const AnyProblem p = plain_problem(1, 1, 400, 300);
  ViewRequest whole, part;
  whole.pooling = part.pooling = Pooling::max;
  whole.R = 400;
  whole.C = 300;
  part.region = lookback::PooledView::Region{150, 390, 100, 299};
  part.R = 240;
  part.C = 199;
  const auto a = run_views<float>(p, whole), b = run_views<float>(p, part);
  Difference found;
  for (std::int64_t r = 0; r < 240; ++r)
    for (std::int64_t c = 0; c < 199; ++c) {
      const float x = b.cells->at(0, 0, r, c), y = a.cells->at(0, 0, 150 + r, 100 + c);
      found.expect(same_bits(x, y), x, y, r, c);
    }
  CHECK(found.text() == "");
}
