// The same bits of every view: for any number of threads, on every instruction set with fused
// multiply-add, for a row, a head and a sequence alone, and however visibility is spelled.
#include <tbb/task_arena.h>

#include "catch.hpp"
#include "support/targets.hpp"
#include "support/view_request.hpp"

using namespace lookback::test;
using lookback::Extents;
using lookback::Heads;
using lookback::Position;
using lookback::Stage;
using lookback::Type;
using lookback::Window;

namespace {

void fill_randomly(AnyProblem& p, std::uint64_t seed) {
  Random random(seed);
  for (AnyArray* a : {&p.q, &p.k, &p.v}) a->fill([&] { return random.normal(); });
}

/// Many groups of rows and key blocks, tails of both, several heads that share keys.
std::vector<AnyProblem> problems(Type type) {
  std::vector<AnyProblem> list;
  const auto add = [&](std::int64_t B, std::int64_t H, std::int64_t H_kv, std::int64_t n_q,
                       std::int64_t n_k, std::int64_t d) -> AnyProblem& {
    list.emplace_back(type, B, H, H_kv, n_q, n_k, d, 5);
    fill_randomly(list.back(), test_seed() + list.size());
    return list.back();
  };
  add(1, 2, 1, 700, 1301, 24);
  AnyProblem& causal = add(2, 4, 2, 401, 399, 17);
  causal.causal = true;
  causal.anchor = Position::Anchor::bottom_right;
  causal.softcap = 4;
  AnyProblem& terms = add(1, 3, 3, 210, 300, 9);
  terms.alibi = std::vector<double>{0.1, 0.02, 0.5};
  terms.sinks = std::vector<double>{1, -2, 3};
  terms.window = Window{90, 12};
  terms.anchor = Position::Anchor::top_left;
  terms.hook = TestHook{TestHook::Kind::add_noise};
  // Scores of hundreds: weights underflow, and entropies are near 0.
  AnyProblem& sharp = add(1, 2, 2, 130, 260, 20);
  sharp.scale = 20;
  add(1, 2, 1, 1, 5000, 16);
  return list;
}

ViewRequest request_for(const AnyProblem& p, Heads heads) {
  ViewRequest request = ViewRequest::everything(p);
  request.heads = heads;
  request.context = true;
  request.mass = 2 * p.k.extent(2) + 1;
  request.is_signed = true;
  return request;
}

template <class F>
void for_each_case(Type type, F f) {
  const auto list = problems(type);
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (const Heads heads : {Heads::each, Heads::mean, Heads::max}) {
      const ViewRequest request = request_for(list[i], heads);
      INFO("problem " << i << ", " << request.text());
      f(list[i], request);
    }
  }
}

/// The rows [first, first + count) as a problem of their own.
AnyProblem rows_of(const AnyProblem& p, std::int64_t first, std::int64_t count) {
  AnyProblem part(p.q.type(), p.q.extent(0), p.H(), p.k.extent(1), count, p.k.extent(2),
                  p.q.extent(3), p.d_v());
  part.q = p.q.part({0, 0, first, 0}, {p.q.extent(0), p.H(), count, p.q.extent(3)});
  part.k = p.k;
  part.v = p.v;
  part.scale = p.scale;
  part.softcap = p.softcap;
  part.alibi = p.alibi;
  part.sinks = p.sinks;
  part.window = p.window;
  part.causal = p.causal;
  part.hook = p.hook;
  if (part.hook) part.hook->first_row = first;
  part.anchor = Position::Anchor::offset;
  part.one_offset = p.sequence(0).offset + first;
  return part;
}

template <class T>
std::string part_difference(const char* name, const std::optional<Array<T>>& part,
                            const std::optional<Array<T>>& whole, const Extents& start) {
  const std::string text = bit_difference(*part, whole->part(start, part->extent()));
  return text.empty() ? "" : name + (": " + text);
}

/// What is per row, of rows or heads or sequences that start at `start` of the whole.
template <class T>
std::string per_row_difference(const ViewResults<T>& part, const ViewResults<T>& whole,
                               const Extents& start) {
  std::string found = part_difference("entropy", part.entropy, whole.entropy, start) +
                      part_difference("largest", part.largest, whole.largest, start) +
                      part_difference("position", part.position, whole.position, start) +
                      part_difference("distance", part.distance, whole.distance, start) +
                      part_difference("top", part.top_weight, whole.top_weight, start) +
                      part_difference("lse", part.lse, whole.lse, start);
  part.top_index->for_each_place([&](auto b, auto h, auto i, auto t) {
    const auto expected =
        whole.top_index->at(start[0] + b, start[1] + h, start[2] + i, start[3] + t);
    if (part.top_index->at(b, h, i, t) != expected) found = "an index differs; " + found;
  });
  return found;
}

template <class T>
std::string per_key_difference(const ViewResults<T>& part, const ViewResults<T>& whole,
                               const Extents& start) {
  return part_difference("rows", part.rows, whole.rows, start) +
         part_difference("received sum", part.received_sum, whole.received_sum, start) +
         part_difference("received max", part.received_max, whole.received_max, start) +
         part_difference("cells", part.cells, whole.cells, start) +
         part_difference("mass", part.mass, whole.mass, start) +
         part_difference("share", part.share, whole.share, start);
}

}  // namespace

TEMPLATE_TEST_CASE("bits of views: 1, 2 and 7 threads", "", float, double) {
  for_each_case(lookback::type_of<TestType>(), [](const AnyProblem& p, const ViewRequest& r) {
    on_every_target([&] {
      const auto one = run_views<TestType>(p, r, 1);
      CHECK(bit_difference(run_views<TestType>(p, r, 2), one) == "");
      // More threads than cores, so that 7 take part also on a small machine.
      tbb::task_arena arena(7);
      arena.execute([&] { CHECK(bit_difference(run_views<TestType>(p, r, 7), one) == ""); });
    });
  });
}

TEMPLATE_TEST_CASE("bits of views: every instruction set with fused multiply-add", "", float,
                   double) {
  std::vector<std::string> names;
  for (const auto& target : supported_targets())
    if (target.same_bits) names.push_back(target.name);
  if (names.size() < 2) {
    skipped("this machine has fewer than two instruction sets with fused multiply-add");
    return;
  }
  for_each_case(lookback::type_of<TestType>(), [&](const AnyProblem& p, const ViewRequest& r) {
    std::optional<ViewResults<TestType>> first;
    for (const std::string& name : names) {
      const TargetScope scope(name);
      auto results = run_views<TestType>(p, r);
      if (first) CHECK(bit_difference(results, *first) == "");
      if (!first) first = std::move(results);
    }
  });
}

TEMPLATE_TEST_CASE("bits of views: rows alone and among others", "", float, double) {
  const auto list = problems(lookback::type_of<TestType>());
  for (std::size_t which = 0; which + 1 < list.size(); ++which) {
    const AnyProblem& p = list[which];
    for (const Heads heads : {Heads::each, Heads::mean, Heads::max}) {
      const ViewRequest request = request_for(p, heads);
      const auto whole = run_views<TestType>(p, request);
      for (const auto& [first, count] : {std::pair{0, 1}, {129, 1}, {1, 47}, {50, 80}}) {
        INFO("problem " << which << ", rows " << first << " to " << first + count << ", heads "
                        << static_cast<int>(heads));
        const AnyProblem part = rows_of(p, first, count);
        const auto alone = run_views<TestType>(part, request_for(part, heads));
        CHECK(per_row_difference(alone, whole, {0, 0, first, 0}) == "");
      }
    }
  }
}

TEMPLATE_TEST_CASE("bits of views: a head and a sequence alone and among others", "", float,
                   double) {
  const AnyProblem p = problems(lookback::type_of<TestType>())[1];
  const std::int64_t n_q = p.q.extent(2), n_k = p.k.extent(2), d = p.q.extent(3);
  const ViewRequest request = request_for(p, Heads::each);
  const auto whole = run_views<TestType>(p, request);
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t h = 0; h < 4; ++h) {
      INFO("sequence " << b << ", head " << h);
      AnyProblem one = p;
      one.q = p.q.part({b, h, 0, 0}, {1, 1, n_q, d});
      one.k = p.k.part({b, p.kv_head(h), 0, 0}, {1, 1, n_k, d});
      one.v = p.v.part({b, p.kv_head(h), 0, 0}, {1, 1, n_k, p.d_v()});
      one.out_stride = strides_of(Layout::heads_first, {1, 1, n_q, p.d_v()});
      one.lse_stride = strides_of(Layout::heads_first, {1, 1, n_q, 1});
      const auto alone = run_views<TestType>(one, request);
      CHECK(per_row_difference(alone, whole, {b, h, 0, 0}) == "");
      CHECK(per_key_difference(alone, whole, {b, h, 0, 0}) == "");
    }
  }
}

TEMPLATE_TEST_CASE("bits of views: a view alone and among others", "", float, double) {
  const AnyProblem p = problems(lookback::type_of<TestType>())[2];
  const ViewRequest all = request_for(p, Heads::each);
  const auto whole = run_views<TestType>(p, all);
  ViewRequest one;
  one.entropy = true;
  CHECK(bit_difference(*run_views<TestType>(p, one).entropy, *whole.entropy) == "");
  one = {};
  one.received_max = true;
  CHECK(bit_difference(*run_views<TestType>(p, one).received_max, *whole.received_max) == "");
  one = {};
  one.pooling = all.pooling;
  one.R = all.R;
  one.C = all.C;
  CHECK(bit_difference(*run_views<TestType>(p, one).cells, *whole.cells) == "");
  one = {};
  one.share = all.share;
  CHECK(bit_difference(*run_views<TestType>(p, one).share, *whole.share) == "");
  one = {};
  one.rows_at = Stage::weights;
  one.rows = all.rows;
  CHECK(bit_difference(*run_views<TestType>(p, one).rows, *whole.rows) == "");
}

TEMPLATE_TEST_CASE("bits of views: causal as an option, a mask and a bias", "", float, double) {
  AnyProblem causal(lookback::type_of<TestType>(), 1, 2, 1, 310, 310, 12, 3);
  fill_randomly(causal, test_seed());
  AnyProblem masked = causal, biased = causal;
  causal.causal = true;
  masked.mask = AnyArray(Type::boolean, {1, 1, 310, 310});
  biased.bias = AnyArray(masked.q.type(), {1, 1, 310, 310});
  for (std::int64_t i = 0; i < 310; ++i) {
    for (std::int64_t j = 0; j < 310; ++j) {
      masked.mask->set_byte(0, 0, i, j, j <= i ? 1 : 0);
      biased.bias->set(0, 0, i, j, j <= i ? 0 : -INFINITY);
    }
  }
  for (const Heads heads : {Heads::each, Heads::mean, Heads::max}) {
    const ViewRequest request = request_for(causal, heads);
    on_every_target([&] {
      const auto expected = run_views<TestType>(causal, request);
      CHECK(bit_difference(run_views<TestType>(masked, request), expected) == "");
      CHECK(bit_difference(run_views<TestType>(biased, request), expected) == "");
    });
  }
}

// An attended row is a sum of weights relative to the maximum so far, times 1 / sum. Where the
// maximum is in the first block of keys, and all is one chunk, nothing is rescaled on the way.
TEMPLATE_TEST_CASE("bits of views: weights are the context whose values are the identity", "",
                   float, double) {
  const Type type = lookback::type_of<TestType>();
  for (const std::int64_t n_k : {1, 5, 16, 100, 128, 129, 512}) {
    for (const int options : {0, 1, 2}) {
      INFO(n_k << " keys, options " << options);
      AnyProblem p(type, 1, 2, 1, 70, n_k, 16, n_k);
      fill_randomly(p, test_seed() + std::uint64_t(n_k));
      for (std::int64_t j = 0; j < n_k; ++j)
        for (std::int64_t c = 0; c < n_k; ++c) p.v.set(0, 0, j, c, j == c ? 1 : 0);
      if (n_k > 128) {
        p.bias = AnyArray(type, {1, 1, 1, n_k});
        p.bias->fill([] { return 0; });
        p.bias->set(0, 0, 0, 0, 30);
      }
      if (options == 1) p.sinks = std::vector<double>{0.7, -3};
      if (options == 2) {
        p.alibi = std::vector<double>{0.02, 0.05};
        p.causal = true;
        p.anchor = Position::Anchor::top_left;
      }
      on_every_target([&] {
        const auto own = run_views<TestType>(p, all_weights(p, Heads::each));
        const Results context = p.run();
        Difference found;
        own.rows->for_each_place([&](auto b, auto h, auto i, auto j) {
          const TestType a = own.rows->at(b, h, i, j);
          const auto e = static_cast<TestType>(context.out.get(b, h, i, j));
          found.expect(same_bits(a, e), a, e, b, h, i, j);
        });
        CHECK(found.text() == "");
      });
    }
  }
}
