// CASES.md: masks and biases that broadcast, head groups, zero sizes and long strides, with
// options.
#include <sys/mman.h>

#include <cmath>

#include "catch.hpp"
#include "support/cases.hpp"
#include "support/every_path.hpp"
#include "support/options_reference.hpp"
#include "support/spellings.hpp"

using namespace lookback::test;
using lookback::Extents;
using lookback::Position;
using lookback::Strides;
using lookback::Tensor;
using lookback::Type;

namespace {

constexpr double kInf = INFINITY;

/// The keep-mask of B33: batch 0 sees the first three keys, batch 1 all five.
bool kept(std::int64_t b, std::int64_t j) {
  return b == 1 || j < 3;
}

Problem<float> broadcast_problem() {
  auto p =
      filled_problem<float>(Shape{.n_q = 3, .n_k = 5, .d = 4, .d_v = 4, .B = 2, .H = 2, .H_kv = 2});
  p.options.scale = 0.5;
  return p;
}

void check_broadcast(const Result<float>& r) {
  const Array<float> second = r.out.part({1, 0, 0, 0}, {1, 2, 3, 4});
  CHECK(row_difference(r.out, 0, 2, std::array{-1.467692, -0.4676924, 0.5323076, -1.602925}) == "");
  CHECK(row_difference(r.out, 1, 2, std::array{-0.0148774, 0.9851226, -0.7917542, 0.2082458}) ==
        "");
  CHECK(row_difference(second, 0, 2, std::array{-0.5078235, 0.4921765, 1.492176, -0.8129951}) ==
        "");
  CHECK(row_difference(second, 1, 2, std::array{1.595071, -0.0351492, -1.020543, -0.0205435}) ==
        "");
}

/// Every way to leave out axes of [B, H, n_q, n_k].
std::vector<Extents> broadcast_extents(const Extents& full) {
  std::vector<Extents> all;
  for (int which = 0; which < 16; ++which) {
    Extents extent = full;
    for (std::size_t axis = 0; axis < 4; ++axis)
      if (which >> axis & 1) extent[axis] = 1;
    all.push_back(extent);
  }
  return all;
}

/// The array repeated to the full extents.
StoredArray expanded(const StoredArray& x, const Extents& full) {
  StoredArray dense(x.type(), full);
  dense.fill([&](auto b, auto h, auto i, auto j) { return broadcast_value(x.view(), b, h, i, j); });
  return dense;
}

}  // namespace

TEST_CASE("B33 a mask of one row per sequence, in every form that broadcasts") {
  auto p = broadcast_problem();
  for (const Extents& extent :
       {Extents{2, 1, 1, 5}, Extents{2, 2, 1, 5}, Extents{2, 1, 3, 5}, Extents{2, 2, 3, 5}}) {
    for (const Layout layout : kLayouts) {
      const StoredArray mask = boolean_array(
          extent, [](auto b, auto, auto, auto j) { return kept(b, j); }, layout);
      p.options.mask = mask.view();
      INFO("heads " << extent[1] << ", rows " << extent[2] << ", layout "
                    << static_cast<int>(layout));
      through_every_path(p, check_broadcast);
    }
  }
  // Full extents whose repeated axes have stride 0.
  StoredArray repeated(Type::boolean, {2, 2, 3, 5}, Strides{5, 0, 0, 1});
  repeated.fill([](auto b, auto, auto, auto j) { return kept(b, j); });
  p.options.mask = repeated.view();
  through_every_path(p, check_broadcast);
}

TEST_CASE("B33 a bias of one column moves the lse and leaves the context alone") {
  auto p = broadcast_problem();
  const auto plain = p.run();
  StoredArray bias(Type::float16, {1, 1, 3, 1});
  bias.fill([](auto, auto, auto i, auto) { return i - 1; });
  p.options.bias = bias.view();
  through_every_path(p, [&](const auto& r) {
    CHECK(difference(r.out, plain.out, 2e-6L) == "");
    r.lse.for_each_place([&](auto b, auto h, auto i, auto c) {
      CHECK(near(r.lse.at(b, h, i, c), plain.lse.at(b, h, i, c) + Real(i - 1)));
    });
  });
}

TEMPLATE_TEST_CASE("B33 every set of broadcast axes gives the bits of the array written out", "",
                   float, double) {
  INFO("seed " << test_seed());
  Random random(test_seed());
  const std::int64_t n_q = GENERATE(1, 19), n_k = 140;
  const Shape shape{.n_q = n_q, .n_k = n_k, .d = 4, .d_v = 3, .B = 2, .H = 4, .H_kv = 2};
  auto p = random_problem<TestType>(shape, test_seed());
  const Extents full{2, 4, n_q, n_k};
  for (const Extents& extent : broadcast_extents(full)) {
    StoredArray mask(Type::boolean, extent), bias(Type::bfloat16, extent);
    mask.fill([&](auto...) { return random.integer(0, 3) > 0; });
    bias.fill([&](auto...) { return random.integer(0, 9) == 0 ? -kInf : random.symmetric(); });
    const StoredArray dense_mask = expanded(mask, full), dense_bias = expanded(bias, full);
    auto written_out = p;
    p.options.mask = mask.view();
    p.options.bias = bias.view();
    written_out.options.mask = dense_mask.view();
    written_out.options.bias = dense_bias.view();
    INFO("extents " << extent[0] << ' ' << extent[1] << ' ' << extent[2] << ' ' << extent[3]);
    const OptionsExpected<TestType> expected(written_out);
    for_every_path([&](const auto&, int threads) {
      const auto r = p.run_on_threads(threads);
      CHECK(bit_difference(r, written_out.run_on_threads(threads)) == "");
      CHECK(expected.difference_from(r) == "");
    });
  }
}

TEMPLATE_TEST_CASE("B36 grouped heads equal keys and values repeated by hand, with options", "",
                   float, double) {
  INFO("seed " << test_seed());
  const std::int64_t n_q = GENERATE(1, 2, 9), group = GENERATE(2, 3, 6, 7), H_kv = GENERATE(1, 2);
  const std::int64_t n_k = 530, H = group * H_kv;
  const Shape shape{.n_q = n_q, .n_k = n_k, .d = 4, .d_v = 3, .B = 1, .H = H, .H_kv = H_kv};
  auto p = random_problem<TestType>(shape, test_seed());
  p.options = causal_at(Position::bottom_right());
  std::vector<double> sinks, slopes;
  for (std::int64_t h = 0; h < H; ++h) {
    sinks.push_back(double(h) - 3);
    slopes.push_back(1 / double(h + 2));
  }
  p.options.sinks = sinks;
  p.options.alibi = slopes;
  const StoredArray mask =
      boolean_array({1, H, 1, n_k}, [](auto, auto h, auto, auto j) { return (j + h) % 5 != 0; });
  p.options.mask = mask.view();
  Problem<TestType> repeated(
      Shape{.n_q = n_q, .n_k = n_k, .d = 4, .d_v = 3, .B = 1, .H = H, .H_kv = H});
  repeated.q = p.q;
  repeated.options = p.options;
  repeated.k.for_each_place([&](auto b, auto h, auto j, auto c) {
    repeated.k.at(b, h, j, c) = p.k.at(b, h / group, j, c);
  });
  repeated.v.for_each_place([&](auto b, auto h, auto j, auto c) {
    repeated.v.at(b, h, j, c) = p.v.at(b, h / group, j, c);
  });
  INFO("n_q " << n_q << ", H_kv " << H_kv << ", group " << group);
  through_paths_in_place(p, [&](const auto& r) { CHECK(bit_difference(r, repeated.run()) == ""); });
}

TEST_CASE("B36 the numbers of the case through every path") {
  auto p =
      filled_problem<float>(Shape{.n_q = 1, .n_k = 3, .d = 4, .d_v = 4, .B = 1, .H = 4, .H_kv = 2});
  p.options.scale = 0.5;
  through_every_path(p, [](const auto& r) {
    CHECK(row_difference(r.out, 1, 0, std::array{-0.6166916, 0.3833084, 1.383308, -1.916317}) ==
          "");
    CHECK(row_difference(r.out, 2, 0, std::array{0.3639754, 1.363975, -1.718789, -0.7187895}) ==
          "");
  });
}

TEMPLATE_TEST_CASE("B35 zero sizes with every option that has an array", "", float, double) {
  INFO("seed " << test_seed());
  for (const std::int64_t B : {0, 2})
    for (const std::int64_t H : {0, 2})
      for (const std::int64_t n_q : {0, 1, 3, 17})
        for (const std::int64_t n_k : {0, 1, 17})
          for (const std::int64_t d_v : {0, 3}) {
            const Shape shape{
                .n_q = n_q, .n_k = n_k, .d = 3, .d_v = d_v, .B = B, .H = H, .H_kv = H};
            auto p = random_problem<TestType>(shape, test_seed());
            const StoredArray mask = boolean_array(
                {B, H, n_q, n_k}, [](auto, auto, auto i, auto j) { return (i + j) % 3 != 0; });
            StoredArray bias(Type::float32, {B, H, n_q, n_k});
            bias.fill([](auto, auto, auto i, auto j) { return double(i - j) / 8; });
            const StoredArray blocks =
                boolean_array({1, 1, (n_q + 1) / 2, (n_k + 2) / 3}, [](auto...) { return true; });
            const std::vector<std::int64_t> lengths(static_cast<std::size_t>(B), n_k),
                queries(static_cast<std::size_t>(n_q), 4), keys(static_cast<std::size_t>(n_k), 4);
            const std::vector<double> per_head(static_cast<std::size_t>(H), 0.5);
            p.options = causal_at(Position::bottom_right());
            p.options.mask = mask.view();
            p.options.bias = bias.view();
            p.options.blocks = lookback::Blocks{blocks.view(), 2, 3};
            p.options.lengths = lengths;
            p.options.documents = lookback::Documents{queries, keys};
            p.options.sinks = per_head;
            p.options.alibi = per_head;
            INFO(shape);
            const OptionsExpected<TestType> expected(p);
            for_every_path([&](const auto&, int threads) {
              CHECK(expected.difference_from(p.run_on_threads(threads)) == "");
            });
          }
}

TEST_CASE("B41 strides beyond 32 bits in the mask, the bias and the blocks") {
  constexpr std::size_t kBytes = std::size_t{1} << 35;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    skipped("no address space for 32 GiB");
    return;
  }
  const std::int64_t n_q = GENERATE(3, 20), n_k = 4;
  const Extents full{1, 1, n_q, n_k};
  const auto plain = random_problem<float>(Shape{n_q, n_k, 4, 4}, test_seed());
  const std::int64_t far = (std::int64_t{1} << 31) / 2 - 64;
  for (const Type type : {Type::boolean, Type::float32, Type::bfloat16})
    for (const bool backwards : {false, true})
      for (const std::size_t axis : {2u, 3u}) {
        StoredArray compact(type, full);
        compact.fill([](auto, auto, auto i, auto j) { return (i * 3 + j) % 4 == 0 ? 0 : 1; });
        Strides stride{0, 0, axis == 2 ? far * 3 / n_q + 5 : 1, axis == 2 ? 1 : far};
        Tensor spread{memory, type, full, stride};
        if (backwards) {
          for (std::int64_t& s : spread.stride) s = -s;
          spread.data = static_cast<char*>(memory) + kBytes - 4096;
        }
        compact.for_each_place([&](auto b, auto h, auto i, auto j) {
          auto* place = const_cast<std::byte*>(place_of(spread, b, h, i, j));
          write_element(type, place, compact.at(b, h, i, j));
        });
        auto near_by = plain, far_off = plain, in_blocks = plain;
        if (type == Type::boolean) {
          near_by.options.mask = compact.view();
          far_off.options.mask = spread;
          in_blocks.options.blocks = lookback::Blocks{spread, 1, 1};
        } else {
          near_by.options.bias = compact.view();
          far_off.options.bias = in_blocks.options.bias = spread;
        }
        INFO(name_of(type) << ", axis " << axis << ", backwards " << backwards);
        for_every_path([&](const auto&, int threads) {
          const auto expected = near_by.run_on_threads(threads);
          CHECK(bit_difference(far_off.run_on_threads(threads), expected) == "");
          CHECK(bit_difference(in_blocks.run_on_threads(threads), expected) == "");
        });
      }
  munmap(memory, kBytes);
}
