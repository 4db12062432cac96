// What no row may see never matters: NaN or infinity in hidden keys and values, in padding, in the
// bias of hidden places, in the queries of rows that see nothing, and between and around the arrays
// gives the same bits as zeros there.
#include <limits>

#include "catch.hpp"
#include "support/any_random.hpp"
#include "support/guarded_call.hpp"
#include "support/paths.hpp"

using namespace lookback::test;
using lookback::Extents;
using lookback::Path;
using lookback::Type;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int kDraws = LOOKBACK_TEST_SANITIZED ? 60 : 400;

void copy_row(const AnyArray& from, AnyArray& to, std::int64_t b, std::int64_t h, std::int64_t i) {
  for (std::int64_t c = 0; c < from.extent(3); ++c) to.set(b, h, i, c, from.get(b, h, i, c));
}

void copy_bias(const AnyProblem& p, AnyArray& to, std::int64_t b, std::int64_t h, std::int64_t i,
               std::int64_t j) {
  const Extents& e = to.extent();
  if (e[0] == 1) b = 0;
  if (e[1] == 1) h = 0;
  if (e[2] == 1) i = 0;
  if (e[3] == 1) j = 0;
  to.set(b, h, i, j, p.bias->get(b, h, i, j));
}

/// Which rows of q, k and v matter to some row. One place for each element: index(batch, head,
/// row).
struct Seen {
  std::vector<bool> q, k;

  explicit Seen(const AnyProblem& p) : q(rows_of(p.q)), k(rows_of(p.k)) {
    for (std::int64_t n = 0; n < p.sequences(); ++n) {
      const AnyProblem::Sequence s = p.sequence(n);
      for (std::int64_t h = 0; h < p.H(); ++h)
        for (std::int64_t i = 0; i < s.n_q; ++i)
          for (std::int64_t j = 0; j < s.n_k; ++j) {
            if (!p.counts(s, h, i, j)) continue;
            q[index(p.q, s.batch, h, s.first_q + i)] = true;
            k[index(p.k, s.batch, p.kv_head(h), s.first_k + j)] = true;
          }
    }
  }
  static std::size_t rows_of(const AnyArray& a) {
    return static_cast<std::size_t>(a.extent(0) * a.extent(1) * a.extent(2));
  }
  static std::size_t index(const AnyArray& a, std::int64_t b, std::int64_t h, std::int64_t i) {
    return static_cast<std::size_t>((b * a.extent(1) + h) * a.extent(2) + i);
  }
};

/// Only the rows that are seen keep their values; all else, gaps included, is `poison`.
AnyArray poisoned(const AnyArray& from, const std::vector<bool>& seen, double poison) {
  AnyArray to = from;
  to.fill_storage(poison);
  from.for_each_place([&](auto b, auto h, auto i, auto c) {
    if (seen[Seen::index(from, b, h, i)]) to.set(b, h, i, c, from.get(b, h, i, c));
  });
  return to;
}

AnyArray poisoned_bias(const AnyProblem& p, double poison) {
  AnyArray to = *p.bias;
  to.fill_storage(poison);
  for (std::int64_t n = 0; n < p.sequences(); ++n) {
    const AnyProblem::Sequence s = p.sequence(n);
    for (std::int64_t h = 0; h < p.H(); ++h)
      for (std::int64_t i = 0; i < s.n_q; ++i)
        for (std::int64_t j = 0; j < s.n_k; ++j)
          if (p.sees(s, h, i, j)) copy_bias(p, to, s.batch, h, i, j);
  }
  return to;
}

AnyProblem poisoned(const AnyProblem& p, const Seen& seen, double poison) {
  AnyProblem to = p;
  to.q = poisoned(p.q, seen.q, poison);
  to.k = poisoned(p.k, seen.k, poison);
  to.v = poisoned(p.v, seen.k, poison);
  if (p.bias) to.bias = poisoned_bias(p, poison);
  return to;
}

void check_poisons(const AnyProblem& p, std::initializer_list<Path> paths, int threads) {
  const Seen seen(p);
  const AnyProblem zeros = poisoned(p, seen, 0);
  std::vector<AnyProblem> others;
  for (const double poison : {kNaN, kInf, -kInf}) others.push_back(poisoned(p, seen, poison));
  on_every_target([&] {
    for (const Path path : paths) {
      const PathScope scope(path);
      INFO("path " << name_of(path) << ", threads " << threads);
      const Results expected = zeros.run(threads);
      for (const AnyProblem& other : others) {
        const std::string found = bit_difference(other.run(threads), expected);
        if (!found.empty()) FAIL_CHECK(found);
      }
    }
  });
}

AnyProblem plain_problem(Type type, std::int64_t n_q, std::int64_t n_k) {
  AnyProblem p(type, 2, 4, 2, n_q, n_k, 13, 21);
  Random random(test_seed());
  for (AnyArray* array : {&p.q, &p.k, &p.v}) array->fill([&] { return random.normal(); });
  p.anchor = lookback::Position::Anchor::bottom_right;
  return p;
}

/// Every kind of option that hides keys, with hidden keys before, between and after visible ones.
std::vector<std::pair<const char*, void (*)(AnyProblem&)>> hiding_options() {
  return {
      {"lengths",
       [](AnyProblem& p) {
         p.lengths = {0, p.k.extent(2) * 2 / 3};
       }},
      {"causal", [](AnyProblem& p) { p.causal = true; }},
      {"causal before the keys",
       [](AnyProblem& p) {
         p.causal = true;
         p.anchor = lookback::Position::Anchor::offset;
         p.one_offset = -2;
       }},
      {"window",
       [](AnyProblem& p) {
         p.window = lookback::Window{7, 3};
       }},
      {"window and prefix",
       [](AnyProblem& p) {
         p.window = lookback::Window{5, 0};
         p.prefix = 2;
       }},
      {"documents",
       [](AnyProblem& p) {
         p.query_documents.emplace();
         p.key_documents.emplace();
         for (std::int64_t i = 0; i < p.q.extent(2); ++i) p.query_documents->push_back(i % 2);
         for (std::int64_t j = 0; j < p.k.extent(2); ++j) p.key_documents->push_back(j / 9 % 3);
       }},
      {"blocks",
       [](AnyProblem& p) {
         p.block_rows = 3;
         p.block_keys = 50;
         p.blocks =
             AnyArray(Type::boolean, {1, 1, (p.q.extent(2) + 2) / 3, (p.k.extent(2) + 49) / 50});
         int next = 0;
         p.blocks->fill([&] { return next++ % 3 == 1 ? 1 : 0; });
       }},
      {"mask",
       [](AnyProblem& p) {
         p.mask = AnyArray(Type::boolean, {1, 1, 1, p.k.extent(2)});
         int next = 0;
         p.mask->fill([&] { return next++ % 7 == 3 ? 1 : 0; });
       }},
      {"a mask of nothing",
       [](AnyProblem& p) {
         p.mask = AnyArray(Type::boolean, {1, 1, 1, 1});
         p.mask->fill([] { return 0; });
       }},
      {"bias",
       [](AnyProblem& p) {
         p.bias = AnyArray(p.compute_type(), {1, 1, 1, p.k.extent(2)});
         int next = 0;
         p.bias->fill([&] { return ++next % 3 != 0 ? -kInf : next % 5; });
       }},
      {"hook", [](AnyProblem& p) { p.hook = TestHook{TestHook::Kind::hide_some}; }},
  };
}

}  // namespace

TEST_CASE("poison: each option that hides, alone, in all storage types") {
  INFO("seed " << test_seed());
  for (const auto& [name, hide] : hiding_options())
    for (const Type type : {Type::float32, Type::float64, Type::bfloat16, Type::float16})
      for (const std::int64_t n_q : {3, 70})
        for (const std::int64_t n_k : {100, LOOKBACK_TEST_SANITIZED ? 150 : 600}) {
          AnyProblem p = plain_problem(type, n_q, n_k);
          hide(p);
          INFO(name << ", " << name_of(type) << ", n_q " << n_q << ", n_k " << n_k);
          check_poisons(p, {Path::automatic, Path::few_rows, Path::many_rows_split}, 2);
        }
}

TEST_CASE("poison: random combinations of options") {
  INFO("seed " << test_seed());
  Random random(test_seed() + 1);
  for (int draw = 0; draw < kDraws; ++draw) {
    const Type type = static_cast<Type>(draw % 4);
    const AnyProblem p = random_any_problem(test_seed() + 50000 + std::uint64_t(draw), type);
    INFO("draw " << draw << ": " << p.text());
    check_poisons(p, {kPaths[std::size_t(draw / 4 % 5)]}, static_cast<int>(random.integer(1, 2)));
  }
}

TEST_CASE("poison: a packed sequence does not see its neighbours") {
  INFO("seed " << test_seed());
  for (const Type type : {Type::float32, Type::float64, Type::bfloat16, Type::float16}) {
    AnyProblem p(type, 1, 4, 2, 60, 90, 9, 11);
    Random random(test_seed());
    for (AnyArray* array : {&p.q, &p.k, &p.v}) array->fill([&] { return random.normal(); });
    p.q_bounds = {0, 5, 5, 40, 60};
    p.k_bounds = {0, 30, 40, 77, 90};
    on_every_target([&] {
      const Results expected = p.run();
      for (std::int64_t n = 0; n < 4; ++n) {
        const auto s = p.sequence(n);
        AnyProblem other = p;
        for (AnyArray* array : {&other.q, &other.k, &other.v}) array->fill_storage(kNaN);
        for (std::int64_t h = 0; h < 4; ++h)
          for (std::int64_t i = 0; i < s.n_q; ++i) copy_row(p.q, other.q, 0, h, s.first_q + i);
        for (std::int64_t h = 0; h < 2; ++h)
          for (std::int64_t j = 0; j < s.n_k; ++j) {
            copy_row(p.k, other.k, 0, h, s.first_k + j);
            copy_row(p.v, other.v, 0, h, s.first_k + j);
          }
        const Extents from{0, 0, s.first_q, 0}, count{1, 4, s.n_q, 11}, rows{1, 4, s.n_q, 1};
        const Results found = other.run();
        INFO("sequence " << n);
        CHECK(bit_difference(found.out.part(from, count), expected.out.part(from, count)) == "");
        CHECK(bit_difference(found.lse.part(from, rows), expected.lse.part(from, rows)) == "");
      }
    });
  }
}

TEST_CASE("poison: guard pages around every array and list") {
  INFO("seed " << test_seed());
  for (int draw = 0; draw < kDraws; ++draw) {
    const Type type = static_cast<Type>(draw % 4);
    const AnyProblem p = random_any_problem(test_seed() + 90000 + std::uint64_t(draw), type);
    INFO("draw " << draw << ": " << p.text());
    on_every_target([&] {
      const PathScope scope(kPaths[std::size_t(draw / 4 % 5)]);
      const Results expected = p.run(1);
      for (const auto edge : {GuardedCall::Edge::front, GuardedCall::Edge::back}) {
        const std::string found = bit_difference(GuardedCall(p, edge).run(1 + draw % 2), expected);
        if (!found.empty()) FAIL_CHECK(found);
      }
    });
  }
}
