// Real Q, K, V of a sentence encoder with the answers of a float64 computation.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "catch.hpp"
#include "support/npy.hpp"
#include "support/problem.hpp"

using namespace lookback::test;
using lookback::Extents;
using lookback::OutputTensor;
using lookback::Strides;
using lookback::Tensor;

namespace {

// Layer 0 of the story has scores up to 76. Their float32 sums of products alone move an lse above
// 32 by up to 1.6e-5, two units in its last place, so there four units are allowed; all others keep
// 1e-5, and so does every context.
template <class T>
Real tolerance_of(float expected) {
  const float magnitude = std::fabs(expected);
  const Real unit = std::nextafter(magnitude, INFINITY) - magnitude;
  return sizeof(T) > 4 || magnitude < 32 ? 1e-5L : std::max(1e-5L, 4 * unit);
}

/// Arrays of layers x heads x positions, as files lay them out.
struct Recording {
  Npy q, k, v, out, lse, out_causal, lse_causal;

  explicit Recording(const std::string& folder)
      : q(read_npy(folder + "/q.npy")),
        k(read_npy(folder + "/k.npy")),
        v(read_npy(folder + "/v.npy")),
        out(read_npy(folder + "/out.npy")),
        lse(read_npy(folder + "/lse.npy")),
        out_causal(read_npy(folder + "/out_causal.npy")),
        lse_causal(read_npy(folder + "/lse_causal.npy")) {}
};

/// Where a sequence lies in the files.
struct Slice {
  Extents extent;  // of q, k, v and out
  Strides rows;    // of q, k, v and out
  Strides lse;     // of lse
  std::int64_t first_row = 0, first_lse = 0;
};

template <class T>
std::string compare(const std::vector<T>& actual, const std::vector<float>& expected,
                    Extents extent, const Strides& stride, std::int64_t first) {
  Difference found;
  Array<float>(extent, stride).for_each_place([&](auto b, auto h, auto i, auto c) {
    const auto at = static_cast<std::size_t>(first + b * stride[0] + h * stride[1] + i * stride[2] +
                                             c * stride[3]);
    const Real a = actual[at];
    found.expect(close(a, expected[at], tolerance_of<T>(expected[at])), a, expected[at], b, h, i,
                 c);
  });
  return found.text();
}

/// The engine reads and writes the sequence where it lies, as numbers of type T.
template <class T>
void check(const Recording& data, const Slice& slice) {
  const auto as_type = [](const Npy& npy) {
    return std::vector<T>(npy.data.begin(), npy.data.end());
  };
  const auto input = [&](const std::vector<T>& array) {
    return lookback::strided(array.data() + slice.first_row, slice.extent, slice.rows);
  };
  const auto q = as_type(data.q), k = as_type(data.k), v = as_type(data.v);
  const Extents lse_extent{slice.extent[0], slice.extent[1], slice.extent[2], 1};
  for (const bool causal : {false, true}) {
    INFO((causal ? "causal" : "plain"));
    lookback::Options options;
    options.causal = causal;
    std::vector<T> out(data.out.data.size()), lse(data.lse.data.size());
    attend(input(q), input(k), input(v),
           {lookback::strided(out.data() + slice.first_row, slice.extent, slice.rows),
            lookback::strided(lse.data() + slice.first_lse, lse_extent, slice.lse)},
           options);
    CHECK(compare(out, causal ? data.out_causal.data : data.out.data, slice.extent, slice.rows,
                  slice.first_row) == "");
    CHECK(compare(lse, causal ? data.lse_causal.data : data.lse.data, lse_extent, slice.lse,
                  slice.first_lse) == "");
  }
}

Slice heads_first_slice(const std::vector<std::int64_t>& shape) {
  const std::int64_t H = shape[shape.size() - 3], n = shape[shape.size() - 2], d = shape.back();
  const std::int64_t layers = shape.size() == 4 ? shape[0] : 1;
  return {{layers, H, n, d}, {H * n * d, n * d, d, 1}, {H * n, n, 1, 1}};
}

}  // namespace

TEST_CASE("minilm: one sentence, all layers and heads") {
  const Recording data(data_path("minilm/cat"));
  REQUIRE(data.q.shape == std::vector<std::int64_t>{6, 12, 18, 32});
  on_every_target([&] { check<float>(data, heads_first_slice(data.q.shape)); });
}

TEST_CASE("minilm: one layer of a story of 509 tokens") {
  const Recording data(data_path("minilm/long"));
  REQUIRE(data.q.shape == std::vector<std::int64_t>{12, 509, 32});
  on_every_target([&] { check<float>(data, heads_first_slice(data.q.shape)); });
}

TEST_CASE("minilm: four sentences packed along the tokens, each where it lies") {
  const Recording data(data_path("minilm/batch"));
  const std::int64_t tokens = 97, H = 12, d = 32;
  REQUIRE(data.q.shape == std::vector<std::int64_t>{6, tokens, H, d});
  const std::int64_t bounds[] = {0, 6, 19, 48, 97};
  on_every_target([&] {
    for (int s = 0; s < 4; ++s) {
      INFO("sentence " << s);
      const std::int64_t first = bounds[s], n = bounds[s + 1] - first;
      check<float>(data, {{6, H, n, d},
                          {tokens * H * d, d, H * d, 1},
                          {H * tokens, tokens, 1, 1},
                          first * H * d,
                          first});
    }
  });
}

TEST_CASE("minilm: the story in all layers, from the shared data") {
  const std::string folder = LOOKBACK_SHARED_DATA "/minilm/long";
  if (!std::filesystem::exists(folder)) {
    skipped("no shared data beside the repository: minilm/long");
    return;
  }
  const Recording data(folder);
  REQUIRE(data.q.shape == std::vector<std::int64_t>{6, 12, 509, 32});
  check<float>(data, heads_first_slice(data.q.shape));
  check<double>(data, heads_first_slice(data.q.shape));
}
