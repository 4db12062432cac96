// Memory beyond the caller's arrays does not grow with n_q x n_k, nor with the keys. Peaks are
// those of the process, so every case here is run in a process of its own.
#include <sys/resource.h>

#include <algorithm>

#include "catch.hpp"
#include "support/problem.hpp"

using namespace lookback::test;

namespace {

constexpr std::int64_t kMiB = 1024 * 1024;

std::int64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;  // in KiB on Linux
}

template <class T>
std::int64_t bytes_of(const Array<T>& array) {
  return static_cast<std::int64_t>(array.storage().size() * sizeof(T));
}

/// out must be touched before the call, so that its pages are not counted as the engine's.
std::string differences_of_rows(const Problem<float>& p, const Result<float>& r, int rows) {
  Difference found;
  const std::int64_t n_q = p.q.extent(2), H = p.q.extent(1);
  Random random(test_seed());
  for (int sample = 0; sample < rows; ++sample) {
    const std::int64_t i = sample == 0 ? n_q - 1 : random.integer(0, n_q - 1);
    const std::int64_t h = random.integer(0, H - 1);
    const auto row = p.reference_row(0, h, i);
    const auto bound =
        error_bound<float>(p.q.view(), p.k.view(), p.v.view(), p.formula(), row, 0, h, i);
    for (std::int64_t c = 0; c < p.v.extent(3); ++c) {
      const auto at = static_cast<std::size_t>(c);
      const Real a = r.out.at(0, h, i, c);
      found.expect(close(a, row.out[at], bound.out[at]), a, row.out[at], h, i, c);
    }
    const Real a = r.lse.at(0, h, i, 0);
    found.expect(close(a, row.lse, bound.lse), a, row.lse, h, i, "lse");
  }
  return found.text();
}

/// n queries and keys of one head with d features.
void check_long_head(std::int64_t n_q, std::int64_t n_k, bool causal) {
  if (LOOKBACK_TEST_SANITIZED) n_q = std::min<std::int64_t>(n_q, 256);
  auto p = random_problem<float>(Shape{n_q, n_k, 64, 64}, test_seed());
  if (causal) p.options = causal_at(lookback::Position::bottom_right());
  Result<float> r{Array<float>({1, 1, n_q, 64}), Array<float>({1, 1, n_q, 1})};
  const std::int64_t arrays =
      bytes_of(p.q) + bytes_of(p.k) + bytes_of(p.v) + bytes_of(r.out) + bytes_of(r.lse);
  const std::int64_t before = peak_bytes();
  attend(p.q.view(), p.k.view(), p.v.view(), {r.out.output(), r.lse.output()}, p.options);
  const std::int64_t after = peak_bytes();
  INFO("arrays " << arrays << ", peak before " << before << ", after " << after << " bytes");
  if (!LOOKBACK_TEST_SANITIZED) CHECK(after - arrays < 32 * kMiB);
  CHECK(after - before < 16 * kMiB);
  CHECK(differences_of_rows(p, r, 16) == "");
}

}  // namespace

TEST_CASE("memory: 65,536 positions of one head, all rows (slow)") {
  check_long_head(65536, 65536, false);
}

TEST_CASE("memory: the last 1,000 queries of one head against 65,536 keys, causal") {
  check_long_head(1000, 65536, true);
}

TEST_CASE("memory: one query against 65,536 keys, split over chunks") {
  check_long_head(1, 65536, false);
}

TEST_CASE("B53 grouped heads are not copied: 32 query heads share 8") {
  const std::int64_t n_q = LOOKBACK_TEST_SANITIZED ? 8 : 512;
  const Shape shape{.n_q = n_q, .n_k = 4096, .d = 128, .d_v = 128, .B = 1, .H = 32, .H_kv = 8};
  const auto p = random_problem<float>(shape, test_seed());
  Result<float> r{Array<float>({1, 32, n_q, 128}), Array<float>({1, 32, n_q, 1})};
  const std::int64_t before = peak_bytes();
  attend(p.q.view(), p.k.view(), p.v.view(), {r.out.output(), r.lse.output()});
  // Copying K and V for every query head would take 134 MB.
  CHECK(peak_bytes() - before < 16 * kMiB);
  CHECK(differences_of_rows(p, r, 4) == "");
}

TEST_CASE("B53 grouped heads in decoding are not copied") {
  const Shape shape{.n_q = 1, .n_k = 30000, .d = 64, .d_v = 64, .B = 1, .H = 16, .H_kv = 2};
  const auto p = random_problem<float>(shape, test_seed());
  Result<float> r{Array<float>({1, 16, 1, 64}), Array<float>({1, 16, 1, 1})};
  const std::int64_t before = peak_bytes();
  attend(p.q.view(), p.k.view(), p.v.view(), {r.out.output(), r.lse.output()});
  CHECK(peak_bytes() - before < 16 * kMiB);
  CHECK(differences_of_rows(p, r, 4) == "");
}
