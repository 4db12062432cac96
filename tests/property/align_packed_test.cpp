// Packed sequences: every view they have is that of each sequence by itself.
#include "catch.hpp"
#include "support/targets.hpp"
#include "support/view_request.hpp"

using namespace lookback::test;
using lookback::Error;
using lookback::Heads;
using lookback::Options;
using lookback::OutputTensor;
using lookback::PooledView;
using lookback::Pooling;
using lookback::Stage;
using lookback::Tensor;
using lookback::Type;
using lookback::Views;

namespace {

/// Positions [first, first + n) of a tensor.
template <class View>
View part_of(View t, std::int64_t first, std::int64_t n) {
  const std::int64_t bytes = first * t.stride[2] * lookback::size_of(t.type);
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(t.data)>>,
                                  const std::byte, std::byte>;
  t.data = static_cast<Byte*>(t.data) + bytes;
  t.extent[2] = n;
  return t;
}

/// The options of a problem for one of its packed sequences.
Options options_of(const AnyProblem& p, const AnyProblem::Sequence& s, AnyProblem& one) {
  one = p;
  one.q_bounds.reset();
  one.k_bounds.reset();
  one.offsets.assign(1, s.offset);
  const auto heads_of = [&](std::optional<std::vector<double>>& values) {
    if (!values || static_cast<std::int64_t>(values->size()) == p.H()) return;
    const auto first = values->begin() + s.index * p.H();
    values = std::vector<double>(first, first + p.H());
  };
  heads_of(one.alibi);
  heads_of(one.sinks);
  const auto ids_of = [](const std::vector<std::int64_t>& ids, std::int64_t first, std::int64_t n) {
    return std::vector<std::int64_t>(ids.begin() + first, ids.begin() + first + n);
  };
  if (p.query_documents) {
    const auto& keys = p.key_documents ? *p.key_documents : *p.query_documents;
    one.query_documents = ids_of(*p.query_documents, s.first_q, s.n_q);
    one.key_documents = ids_of(keys, s.first_k, s.n_k);
  }
  if (one.hook) one.hook->first_sequence = s.index;
  return one.options();
}

/// Rows by token, all of them, at a stage; and the views that are per row.
ViewRequest request_of(const AnyProblem& p, Heads heads, Stage stage) {
  ViewRequest request = all_weights(p, heads);
  request.rows_at = stage;
  request.top = 5;
  request.entropy = request.largest = request.position = request.distance = true;
  request.received_sum = request.received_max = true;
  request.last = 9;
  request.lse = true;
  return request;
}

template <class T>
ViewResults<T> run_alone(const AnyProblem& p, const AnyProblem::Sequence& s, Heads heads,
                         Stage stage) {
  AnyProblem one;
  const Options options = options_of(p, s, one);
  const Tensor q = part_of(p.q.view(), s.first_q, s.n_q);
  const Tensor k = part_of(p.k.view(), s.first_k, s.n_k);
  AnyProblem shape(p.q.type(), 1, p.H(), p.k.extent(1), s.n_q, s.n_k, p.q.extent(3), 1);
  const ViewRequest request = request_of(shape, heads, stage);
  ViewResults<T> results(shape, request);
  align(q, k, results.views(request), options);
  return results;
}

template <class T>
std::string difference_of(const AnyProblem& p, const AnyProblem::Sequence& s,
                          const ViewResults<T>& packed, const ViewResults<T>& alone,
                          bool of_scores) {
  Difference found;
  const auto expect = [&](T a, T e, const char* view, std::int64_t h, std::int64_t i,
                          std::int64_t c) {
    found.expect(same_bits(a, e), a, e, view, s.index, h, i, c);
  };
  const T hidden = of_scores ? -std::numeric_limits<T>::infinity() : T(0);
  alone.rows->for_each_place([&](auto, auto h, auto i, auto j) {
    expect(packed.rows->at(0, h, s.first_q + i, j), alone.rows->at(0, h, i, j), "rows", h, i, j);
  });
  for (std::int64_t h = 0; h < packed.rows->extent(1); ++h)
    for (std::int64_t i = 0; i < s.n_q; ++i)
      for (std::int64_t j = s.n_k; j < p.k.extent(2); ++j)
        expect(packed.rows->at(0, h, s.first_q + i, j), hidden, "rows beyond", h, i, j);
  alone.top_index->for_each_place([&](auto, auto h, auto i, auto t) {
    const auto a = packed.top_index->at(0, h, s.first_q + i, t),
               e = alone.top_index->at(0, h, i, t);
    found.expect(a == e, Real(a), Real(e), "index", s.index, h, i, t);
  });
  const auto along = [&](const char* name, const auto& a, const auto& e, std::int64_t first) {
    e->for_each_place([&](auto, auto h, auto i, auto c) {
      expect(a->at(0, h, first + i, c), e->at(0, h, i, c), name, h, i, c);
    });
  };
  along("top", packed.top_weight, alone.top_weight, s.first_q);
  along("entropy", packed.entropy, alone.entropy, s.first_q);
  along("largest", packed.largest, alone.largest, s.first_q);
  along("position", packed.position, alone.position, s.first_q);
  along("distance", packed.distance, alone.distance, s.first_q);
  along("lse", packed.lse, alone.lse, s.first_q);
  along("received sum", packed.received_sum, alone.received_sum, s.first_k);
  along("received max", packed.received_max, alone.received_max, s.first_k);
  return found.text();
}

template <class T>
void check_packed(const AnyProblem& p, Heads heads, Stage stage) {
  const ViewRequest request = request_of(p, heads, stage);
  const auto packed = run_views<T>(p, request);
  CHECK(untouched_difference(packed) == "");
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    const auto alone = run_alone<T>(p, p.sequence(s), heads, stage);
    CHECK(difference_of(p, p.sequence(s), packed, alone, stage != Stage::weights) == "");
  }
}

}  // namespace

TEMPLATE_TEST_CASE("align: packed sequences with random options, each as if by itself", "", float,
                   double) {
  const int draws = LOOKBACK_TEST_SANITIZED ? 100 : 1000;
  int packed = 0, with_other_keys = 0;
  for (int draw = 0; draw < draws; ++draw) {
    const AnyProblem p =
        random_any_problem(test_seed() + 31 * std::uint64_t(draw), lookback::type_of<TestType>());
    if (!p.q_bounds || p.H() == 0) continue;
    ++packed;
    with_other_keys += p.k_bounds ? 1 : 0;
    INFO("draw " << draw << ": " << p.text());
    constexpr Stage stages[] = {Stage::scaled, Stage::capped, Stage::final, Stage::weights};
    const auto heads = static_cast<Heads>(draw % 3);
    check_packed<TestType>(p, heads, heads == Heads::each ? stages[draw / 3 % 4] : Stage::weights);
  }
  CHECK(packed * 8 > draws);
  CHECK(with_other_keys * 16 > draws);
}

TEST_CASE("align: the distances of packed sequences are those of each, added up") {
  AnyProblem p(Type::float32, 1, 2, 2, 500, 500, 8, 1);
  Random random(test_seed());
  for (AnyArray* a : {&p.q, &p.k, &p.v}) a->fill([&] { return random.normal(); });
  p.q_bounds = std::vector<std::int64_t>{0, 200, 200, 207, 500};
  p.causal = true;
  ViewRequest request;
  request.mass = 40;
  request.share = 3;
  const auto packed = run_views<float>(p, request);
  const auto own = run_views<float>(p, all_weights(p, Heads::each));
  for (std::int64_t h = 0; h < 2; ++h) {
    std::vector<Real> mass(40);
    Real first = 0, all = 0;
    for (std::int64_t s = 0; s < 4; ++s) {
      const auto of = p.sequence(s);
      for (std::int64_t i = 0; i < of.n_q; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
          const Real w = own.rows->at(0, h, of.first_q + i, j);
          mass[static_cast<std::size_t>(std::min<std::int64_t>(i - j, 39))] += w;
          all += w;
          if (j < 3) first += w;
        }
      }
    }
    // Up to 800 additions of float32, each rounded once.
    for (std::int64_t bin = 0; bin < 40; ++bin) {
      const Real expected = mass[static_cast<std::size_t>(bin)];
      CHECK(close(packed.mass->at(0, h, bin, 0), expected, 5e-5L * expected));
    }
    CHECK(close(packed.share->at(0, h, 0, 0), first / all, 1e-5L));
  }
}

TEST_CASE("align: packed sequences have no pooled map") {
  AnyProblem p(Type::float32, 1, 1, 1, 10, 10, 2, 1);
  for (AnyArray* a : {&p.q, &p.k, &p.v}) a->fill([] { return 1; });
  p.q_bounds = std::vector<std::int64_t>{0, 4, 10};
  ViewRequest request;
  request.pooling = Pooling::mean;
  std::string message;
  try {
    run_views<float>(p, request);
  } catch (const Error& error) {
    message = error.what();
  }
  INFO(message);
  CHECK(message.find("pooled") != std::string::npos);
  CHECK(message.find("q_bounds") != std::string::npos);
}
