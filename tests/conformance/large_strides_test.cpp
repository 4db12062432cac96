// B41: offsets beyond 32 bits. Sparse mappings cost address space, but only the pages touched.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

#include "catch.hpp"
#include "support/problem.hpp"

using namespace lookback::test;
using lookback::Strides;
using lookback::Tensor;

namespace {

/// Elements at any place within 2^34 bytes.
class SparseArray {
 public:
  SparseArray() {
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    data_ = memory == MAP_FAILED ? nullptr : static_cast<float*>(memory);
  }
  ~SparseArray() {
    if (data_) munmap(data_, kBytes);
  }
  SparseArray(const SparseArray&) = delete;
  SparseArray& operator=(const SparseArray&) = delete;

  explicit operator bool() const { return data_ != nullptr; }
  /// The element whose index is 0: in the middle if strides are negative.
  float* origin(const Strides& stride) {
    const bool backwards = std::any_of(stride.begin(), stride.end(), [](auto s) { return s < 0; });
    return backwards ? data_ + kBytes / sizeof(float) - 4096 : data_;
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{1} << 34;
  float* data_;
};

std::size_t offset_of(const Strides& s, std::int64_t b, std::int64_t h, std::int64_t i,
                      std::int64_t c) {
  return static_cast<std::size_t>(b * s[0] + h * s[1] + i * s[2] + c * s[3]);
}

/// Each array in turn spread out, for the same bits as compact ones.
void check_spread(const Problem<float>& p, const Strides& stride) {
  const auto expected = p.run();
  for (const int which : {0, 1, 2, 3, 4}) {
    SparseArray memory;
    if (!memory) {
      skipped("no address space for 16 GiB");
      return;
    }
    float* const origin = memory.origin(stride);
    Tensor input[] = {p.q.view(), p.k.view(), p.v.view()};
    Result<float> r{Array<float>(expected.out.extent()), Array<float>(expected.lse.extent())};
    lookback::OutputTensor output[] = {r.out.output(), r.lse.output()};
    const Array<float>* sources[] = {&p.q, &p.k, &p.v};
    if (which < 3) {
      sources[which]->for_each_place([&](auto b, auto h, auto i, auto c) {
        origin[offset_of(stride, b, h, i, c)] = sources[which]->at(b, h, i, c);
      });
      input[which] = lookback::strided<const float>(origin, input[which].extent, stride);
    } else {
      output[which - 3] = lookback::strided(origin, output[which - 3].extent, stride);
    }
    attend(input[0], input[1], input[2], {output[0], output[1]});
    for (const int o : {0, 1}) {
      Array<float>& to = o == 0 ? r.out : r.lse;
      if (which == 3 + o)
        to.for_each_place([&](auto b, auto h, auto i, auto c) {
          to.at(b, h, i, c) = origin[offset_of(stride, b, h, i, c)];
        });
    }
    INFO("array " << which);
    CHECK(bit_difference(r, expected) == "");
  }
}

constexpr std::int64_t k31 = std::int64_t{1} << 31, k30 = std::int64_t{1} << 30;

}  // namespace

TEST_CASE("B41 a batch stride of 2^31 elements and more") {
  const Shape shape{.n_q = 3, .n_k = 3, .d = 4, .d_v = 4, .B = 2, .H = 2, .H_kv = 2};
  const auto p = random_problem<float>(shape, test_seed());
  on_every_target([&] { check_spread(p, {k31 + 64, 12, 4, 1}); });
  on_every_target([&] { check_spread(p, {-k31 - 64, 12, 4, 1}); });
}

TEST_CASE("B41 a head stride of 2^31 elements and more") {
  const Shape shape{.n_q = 3, .n_k = 3, .d = 4, .d_v = 4, .B = 1, .H = 2, .H_kv = 2};
  const auto p = random_problem<float>(shape, test_seed());
  on_every_target([&] { check_spread(p, {0, k31 + 64, 4, 1}); });
}

TEST_CASE("B41 a row stride of 2^30 elements and a feature stride as large") {
  for (const std::int64_t n : {3, 4}) {
    const auto p = random_problem<float>(Shape{n, n, n, n}, test_seed());
    on_every_target([&] {
      check_spread(p, {0, 0, k30, 1});
      check_spread(p, {0, 0, -k30, 1});
      check_spread(p, {0, 0, 1, k30});
    });
  }
}

TEST_CASE("B41 rows far apart in the kernel for many rows") {
  // 40 rows of 2^26 elements: the last one starts beyond 2^31.
  const auto p = random_problem<float>(Shape{40, 40, 5, 5}, test_seed());
  on_every_target([&] { check_spread(p, {0, 0, (std::int64_t{1} << 26) + 16, 1}); });
}
