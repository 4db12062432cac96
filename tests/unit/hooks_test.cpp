// The ready score hooks: each against a formula written anew, on tiles of both orders and types,
// and inside a call against a bias array that says the same.
#include <cmath>

#include "catch.hpp"
#include "support/any_random.hpp"
#include "support/paths.hpp"

using namespace lookback::test;
using lookback::AddConstant;
using lookback::DistanceDecay;
using lookback::RelativeBias;
using lookback::ScoreHook;
using lookback::Type;

namespace {

/// The bucket of T5 (Raffel et al. 2020): x = key - position. The boundaries of the logarithmic
/// half are rounded up where they are whole numbers, which a logarithm alone may miss.
std::int64_t t5_bucket(std::int64_t x, std::int64_t buckets, std::int64_t max_distance,
                       bool bidirectional) {
  std::int64_t first = 0, n = -x;
  if (bidirectional) {
    buckets /= 2;
    if (x > 0) first = buckets;
    n = std::abs(n);
  }
  if (n < 0) n = 0;
  const std::int64_t exact = buckets / 2;
  if (n < exact) return first + n;
  const Real octaves = std::log(Real(n) / Real(exact)) / std::log(Real(max_distance) / Real(exact));
  const auto step = static_cast<std::int64_t>(octaves * Real(buckets - exact) + 1e-12L);
  return first + std::min(exact + step, buckets - 1);
}

/// A tile in a larger array, with a guard of NaN around each score.
template <class T>
struct OwnTile {
  std::int64_t rows, keys;
  std::vector<T> memory;
  lookback_score_tile tile{};

  OwnTile(std::int64_t rows_, std::int64_t keys_, bool rows_inside)
      : rows(rows_), keys(keys_), memory(std::size_t(3 * rows_ * keys_), T(NAN)) {
    tile.is_float64 = sizeof(T) == sizeof(double);
    // Both orders occur: rows side by side, or keys side by side.
    tile.row_stride = rows_inside ? 1 : 3 * keys;
    tile.key_stride = rows_inside ? 3 * rows : 1;
    tile.rows = rows;
    tile.keys = keys;
    tile.sequence = 1;
    tile.head = 2;
    tile.first_row = 5;
    tile.first_position = 30;
    tile.first_key = 24;
    tile.scores = memory.data();
    for_each([](T& score, std::int64_t r, std::int64_t c) { score = T(r) - T(c) / 4; });
  }
  OwnTile(const OwnTile&) = delete;
  OwnTile& operator=(const OwnTile&) = delete;

  template <class F>
  void for_each(F f) {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < keys; ++c)
        f(memory[std::size_t(r * tile.row_stride + c * tile.key_stride)], r, c);
  }
  std::size_t numbers() const {
    std::size_t count = 0;
    for (const T x : memory) count += !std::isnan(x);
    return count;
  }
};

/// The hook adds added(key - position, head) to every score and touches nothing else.
template <class T, class Added>
void check_hook(lookback_score_hook hook, void* user, Added added) {
  for (const bool rows_inside : {false, true})
    for (const std::int64_t rows : {1, 2, 17})
      for (const std::int64_t keys : {1, 3, 40}) {
        OwnTile<T> own(rows, keys, rows_inside);
        hook(&own.tile, user);
        Difference found;
        own.for_each([&](T& score, std::int64_t r, std::int64_t c) {
          const std::int64_t distance = own.tile.first_key + c - own.tile.first_position - r;
          const Real before = Real(r) - Real(c) / 4,
                     expected = before + added(distance, own.tile.head);
          const Real bound = 2 * std::numeric_limits<T>::epsilon() *
                             (std::fabs(before) + std::fabs(expected - before));
          found.expect(close(score, expected, bound), score, expected, r, c);
        });
        INFO("rows " << rows << ", keys " << keys << ", rows inside " << rows_inside);
        CHECK(found.text() == "");
        CHECK(own.numbers() == std::size_t(rows * keys));
      }
}

}  // namespace

TEST_CASE("hooks: the buckets of a relative bias") {
  struct Setting {
    std::int64_t buckets, max_distance;
  };
  for (const bool bidirectional : {true, false})
    for (const auto& [buckets, most] :
         {Setting{32, 128}, Setting{32, 64}, Setting{16, 32}, Setting{64, 1024}, Setting{4, 5},
          Setting{12, 100}, Setting{320, 800}, Setting{10, 1000}}) {
      const RelativeBias bias(std::vector<float>(std::size_t(buckets)), buckets, 1, most,
                              bidirectional);
      INFO("buckets " << buckets << ", max_distance " << most << ", both ways " << bidirectional);
      for (std::int64_t x = -3 * most; x <= 3 * most; ++x)
        if (bias.bucket(x) != t5_bucket(x, buckets, most, bidirectional))
          FAIL_CHECK("distance " << x << " is in bucket " << bias.bucket(x) << ", not "
                                 << t5_bucket(x, buckets, most, bidirectional));
      CHECK(bias.bucket(INT64_MAX) == t5_bucket(most, buckets, most, bidirectional));
      CHECK(bias.bucket(INT64_MIN) == t5_bucket(-most, buckets, most, bidirectional));
    }
}

TEST_CASE("hooks: the buckets that T5's own code gives") {
  const RelativeBias bias(std::vector<float>(32), 32, 1);
  // The first distance of each bucket: keys before the query, then keys after it.
  const std::int64_t first[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91};
  for (std::int64_t b = 0; b < 16; ++b) {
    const std::int64_t from = first[b], next = b < 15 ? first[b + 1] : 100000;
    CHECK(bias.bucket(-from) == b);
    CHECK(bias.bucket(-(next - 1)) == b);
    if (from > 0) CHECK(bias.bucket(from) == 16 + b);
    if (next > 1) CHECK(bias.bucket(next - 1) == 16 + b);
  }
}

TEMPLATE_TEST_CASE("hooks: relative bias, distance decay and constant on tiles of any order", "",
                   float, double) {
  std::vector<float> table;
  Random random(test_seed());
  for (int at = 0; at < 32 * 5; ++at) table.push_back(static_cast<float>(random.normal()));
  RelativeBias bias(table, 32, 5);
  check_hook<TestType>(&RelativeBias::hook, &bias, [&](std::int64_t distance, std::int64_t head) {
    return Real(table[std::size_t(t5_bucket(distance, 32, 128, true) * 5 + head)]);
  });
  DistanceDecay decay{0.75f};
  check_hook<TestType>(&DistanceDecay::hook, &decay, [](std::int64_t distance, std::int64_t) {
    return -0.75L * std::log(1 + std::fabs(Real(distance)));
  });
  AddConstant constant{-3.5f};
  check_hook<TestType>(&AddConstant::hook, &constant,
                       [](std::int64_t, std::int64_t) { return Real(-3.5L); });
}

TEST_CASE("hooks: a distance decay has the same bits on every machine") {
  DistanceDecay decay{0.7f};
  const std::pair<std::int64_t, double> expected[] = {
      {0, 0x1.5555555555555p-2},       {1, -0x1.3707740b9c1f4p-3},   {2, -0x1.be26e5a7f2acfp-2},
      {5, -0x1.d77ffa818b08ep-1},      {100, -0x1.72d91eb19cc57p+1}, {12345, -0x1.90bb3b668df40p+2},
      {1000003, -0x1.2acd04c73fe0cp+3}};
  for (const auto& [distance, score] : expected) {
    OwnTile<double> tile(1, 1, true);
    tile.tile.first_key = tile.tile.first_position + distance;
    double& at = *static_cast<double*>(tile.tile.scores);
    at = 1.0 / 3;
    DistanceDecay::hook(&tile.tile, &decay);
    INFO("distance " << distance);
    CHECK(at == score);
  }
}

TEST_CASE("hooks: a relative bias gives the bits of the bias array that says the same") {
  INFO("seed " << test_seed());
  for (const Type type : {Type::float32, Type::float64, Type::bfloat16, Type::float16})
    for (const std::int64_t n_q : {1, 3, 60}) {
      AnyProblem p(type, 2, 4, 2, n_q, 200, 9, 12);
      Random random(test_seed());
      for (AnyArray* array : {&p.q, &p.k, &p.v}) array->fill([&] { return random.normal(); });
      std::vector<float> table;
      for (int at = 0; at < 32 * 4; ++at) table.push_back(static_cast<float>(random.normal()));
      RelativeBias relative(table, 32, 4, 128, false);
      p.anchor = lookback::Position::Anchor::bottom_right;
      AnyProblem with_array = p;
      with_array.bias = AnyArray(Type::float32, {1, 4, n_q, 200});
      with_array.bias->for_each_place([&](auto b, auto h, auto i, auto j) {
        const std::int64_t bucket = t5_bucket(j - (i + 200 - n_q), 32, 128, false);
        with_array.bias->set(b, h, i, j, table[std::size_t(bucket * 4 + h)]);
      });
      lookback::Options options = p.options();
      options.hook = ScoreHook{&RelativeBias::hook, &relative};
      INFO(name_of(type) << ", n_q " << n_q);
      on_every_target([&] {
        for (const auto path : kPaths) {
          const PathScope scope(path);
          CHECK(bit_difference(p.run_with(options), with_array.run()) == "");
        }
      });
    }
}

TEST_CASE("hooks: a constant moves the lse and nothing else") {
  INFO("seed " << test_seed());
  AnyProblem p(Type::float32, 1, 2, 2, 40, 300, 1, 5);
  Random random(test_seed());
  p.scale = 1;
  // Scores that are exact beside the constant, so the differences stay the same numbers.
  for (AnyArray* array : {&p.q, &p.k})
    array->fill([&] { return double(random.integer(-8, 8)) / 4; });
  p.v.fill([&] { return random.normal(); });
  AddConstant constant{1024};
  lookback::Options options = p.options();
  options.hook = ScoreHook{&AddConstant::hook, &constant};
  on_every_target([&] {
    const Results plain = p.run(), moved = p.run_with(options);
    CHECK(bit_difference(moved.out, plain.out) == "");
    moved.lse.for_each_place([&](auto b, auto h, auto i, auto) {
      const double lse = plain.lse.get(b, h, i, 0) + 1024;
      if (!close(moved.lse.get(b, h, i, 0), lse, 0x1p-12)) FAIL_CHECK("row " << i);
    });
  });
}
