// CASES.md: what is written beside the results, and what is allocated beside the arrays.
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include "catch.hpp"
#include "lookback/hooks.hpp"
#include "support/cases.hpp"
#include "support/count_allocations.hpp"
#include "support/every_path.hpp"

using namespace lookback::test;
using lookback::Options;
using lookback::Position;
using lookback::Type;

namespace {

/// Options with everything that has an array or costs work, for n_q queries and n_k keys.
struct AllOptions {
  std::int64_t H;
  StoredArray mask, bias, blocks;
  std::vector<std::int64_t> lengths, queries, keys;
  std::vector<double> per_head;
  lookback::AddConstant constant{0.5F};

  AllOptions(std::int64_t heads, std::int64_t n_q, std::int64_t n_k)
      : H(heads),
        mask(boolean_array({1, 1, 1, n_k}, [](auto, auto, auto, auto j) { return j % 7 != 3; })),
        bias(Type::bfloat16, {1, heads, 1, n_k}),
        blocks(boolean_array({1, 1, 1, (n_k + 63) / 64},
                             [](auto, auto, auto, auto j) { return j % 4 != 2; })),
        lengths{n_k - n_k / 8},
        queries(static_cast<std::size_t>(n_q), 0),
        keys(static_cast<std::size_t>(n_k), 0),
        per_head(static_cast<std::size_t>(heads), 0.25) {
    bias.fill([](auto, auto h, auto, auto j) { return double((h + j) % 5) / 4; });
    for (std::size_t j = 5; j < keys.size(); j += 11) keys[j] = 1;
  }

  /// One option or a set of them, by name.
  std::vector<std::pair<const char*, Options>> each() const {
    std::vector<std::pair<const char*, Options>> all(9);
    all[0] = {"none", {}};
    all[1].first = "mask";
    all[1].second.mask = mask.view();
    all[2].first = "bias";
    all[2].second.bias = bias.view();
    all[3].first = "blocks";
    all[3].second.blocks = lookback::Blocks{blocks.view(), INT64_MAX, 64};
    all[4].first = "lengths and causal";
    all[4].second = causal_at(Position::bottom_right());
    all[4].second.lengths = lengths;
    all[5].first = "documents";
    all[5].second.documents = lookback::Documents{queries, keys};
    all[6].first = "softcap and alibi";
    all[6].second.softcap = 3.0;
    all[6].second.alibi = per_head;
    all[6].second.position = Position::bottom_right();
    all[7].first = "hook and sinks";
    all[7].second.hook = lookback::ScoreHook{lookback::AddConstant::hook,
                                             const_cast<lookback::AddConstant*>(&constant)};
    all[7].second.sinks = per_head;
    all[8].first = "all together";
    all[8].second = all[4].second;
    all[8].second.mask = all[1].second.mask;
    all[8].second.bias = all[2].second.bias;
    all[8].second.blocks = all[3].second.blocks;
    all[8].second.documents = all[5].second.documents;
    all[8].second.softcap = 3.0;
    all[8].second.alibi = per_head;
    all[8].second.hook = all[7].second.hook;
    all[8].second.sinks = per_head;
    return all;
  }
};

constexpr float kFence = -12345.5F;

/// Outputs whose rows lie apart, with a fence around each.
struct Fenced {
  Array<float> out, lse;
  Fenced(std::int64_t H, std::int64_t n_q, std::int64_t d_v)
      : out({1, H, n_q, d_v}, Layout::padded_rows), lse({1, H, n_q, 1}, Layout::padded_rows) {
    for (auto* array : {&out, &lse}) array->storage().assign(array->storage().size(), kFence);
  }
  /// Empty if nothing but the elements was written.
  std::string fences() const {
    Fenced other(out.extent(1), out.extent(2), out.extent(3));
    Difference found;
    for (auto [mine, kept] : {std::pair{&out, &other.out}, std::pair{&lse, &other.lse}}) {
      mine->for_each_place([to = kept, from = mine](auto b, auto h, auto i, auto c) {
        to->at(b, h, i, c) = from->at(b, h, i, c);
      });
      for (std::size_t at = 0; at < mine->storage().size(); ++at)
        found.expect(same_bits(mine->storage()[at], kept->storage()[at]), mine->storage()[at],
                     kept->storage()[at], at);
    }
    return found.text();
  }
};

std::string fenced_difference(const Problem<float>& p, const Result<float>& expected) {
  Fenced r(p.q.extent(1), p.q.extent(2), p.v.extent(3));
  attend(p.q.view(), p.k.view(), p.v.view(), {r.out.output(), r.lse.output()}, p.options);
  return r.fences() + bit_difference(Result<float>{r.out, r.lse}, expected);
}

template <class F>
std::size_t bytes_allocated_by(F call) {
  for (int turn = 0; turn < 8; ++turn) call();  // until every worker has its scratch
  const std::size_t before = allocated_bytes;
  call();
  return allocated_bytes - before;
}

}  // namespace

TEST_CASE("B39 fences stay intact and repetitions are identical, on any number of threads") {
  // A prefix of 21 keys plus an extension of 3; four heads share one of keys and values.
  const Shape shape{.n_q = 3, .n_k = 24, .d = 5, .d_v = 7, .B = 1, .H = 4, .H_kv = 1};
  const auto p = filled_problem<float>(shape);
  const AllOptions all(4, 3, 24);
  const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, 8);
  for (auto [name, options] : all.each()) {
    if (!options.causal && !options.position) options.causal = true;
    if (!options.position) options.position = Position::at(21);
    const auto expected = p.run_with(options);
    for (const int threads : {2, 8}) {
      INFO(name << ", threads " << threads);
      options.threads = threads;
      const Problem<float> q{p.q, p.k, p.v, options};
      const auto across = across_chunks(q);
      const bool moves = !options.hook;  // hooks may ask where a key stands
      const auto far = moves ? across.problem.run() : expected;
      tbb::task_arena arena(threads);
      std::string found;
      for (const auto path : kPaths) {
        const PathScope scope(path);
        arena.execute([&] {
          for (int repetition = 0; repetition < 200 && found.empty(); ++repetition) {
            found = fenced_difference(q, expected);
            if (moves && repetition % 8 == 0) found += fenced_difference(across.problem, far);
          }
        });
      }
      CHECK(found == "");
    }
  }
}

TEST_CASE("B33 B51 B53 nothing is expanded or copied: allocations do not grow with the keys") {
  if (!kCountsAllocations) {
    skipped("allocations are counted only with the plain allocator of glibc");
    return;
  }
  // Expanding a mask or bias per head and row, or repeating keys for the 8 heads that share them,
  // would take megabytes for the longer one.
  constexpr std::size_t kBig = 48 * 1024;
  const std::int64_t n_q = GENERATE(1, 40), heads = 8, few = 512, many = 8192;
  const AllOptions short_options(heads, n_q, few), long_options(heads, n_q, many);
  const auto shape_of = [&](std::int64_t n_k) {
    return Shape{.n_q = n_q, .n_k = n_k, .d = 16, .d_v = 16, .B = 1, .H = heads, .H_kv = 1};
  };
  const auto short_one = random_problem<float>(shape_of(few), test_seed());
  const auto long_one = random_problem<float>(shape_of(many), test_seed());
  Result<float> r{Array<float>({1, heads, n_q, 16}), Array<float>({1, heads, n_q, 1})};
  const auto all_short = short_options.each(), all_long = long_options.each();
  for (std::size_t o = 0; o < all_long.size(); ++o)
    for (const auto path : kPaths) {
      const PathScope scope(path);
      const auto call = [&](const Problem<float>& p, Options options) {
        options.threads = 1;
        return bytes_allocated_by([&] {
          attend(p.q.view(), p.k.view(), p.v.view(), {r.out.output(), r.lse.output()}, options);
        });
      };
      const std::size_t with_few = call(short_one, all_short[o].second);
      const std::size_t with_many = call(long_one, all_long[o].second);
      INFO(all_long[o].first << ", path " << name_of(path) << ": " << with_few << " and "
                             << with_many << " bytes");
      // Split blocks keep their partial results: a fixed amount per thread.
      const bool split =
          path == lookback::Path::many_rows_split || path == lookback::Path::few_rows_split;
      CHECK(with_many < kBig + (split ? 512 * 1024 : 0));
    }
}
