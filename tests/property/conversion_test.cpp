// Storage types through the public interface: with one visible key and q = 0 the context is the
// value itself, so out = v converted. Held against the definition of the formats.
#include <bit>
#include <limits>

#include "catch.hpp"
#include "support/any_problem.hpp"
#include "support/paths.hpp"
#include "support/random.hpp"

using namespace lookback::test;
using lookback::Path;
using lookback::Type;

namespace {

constexpr std::int64_t kPatterns = 65536;

/// One row per value feature would be slow; all values are the features of one key.
Results converted(const AnyArray& values, Type out_type, Path path) {
  AnyProblem p(values.type(), 1, 1, 1, 1, 1, 1, values.extent(3));
  for (AnyArray* array : {&p.q, &p.k}) array->fill([] { return 0.0; });
  p.v = values;
  p.out_type = out_type;
  const PathScope scope(path);
  return p.run();
}

void check_conversion(const AnyArray& values, Type out_type) {
  on_every_target([&] {
    for (const Path path : {Path::few_rows, Path::many_rows}) {
      INFO(name_of(values.type()) << " to " << name_of(out_type) << ", path " << name_of(path));
      const Results results = converted(values, out_type, path);
      CHECK(bit_difference(results.out, values.as(out_type)) == "");
      CHECK(results.lse.get(0, 0, 0, 0) == 0);
    }
  });
}

AnyArray all_patterns(Type type) {
  AnyArray values(type, {1, 1, 1, kPatterns});
  for (std::int64_t bits = 0; bits < kPatterns; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    std::memcpy(values.bytes().data() + 2 * bits, &pattern, 2);
  }
  return values;
}

/// float32 numbers around each 16-bit number and around the middle to the next one.
std::vector<float> numbers_around(Type type) {
  const AnyArray patterns = all_patterns(type);
  std::vector<float> found;
  const int fraction = type == Type::bfloat16 ? 7 : 10;
  for (std::int64_t bits = 0; bits < kPatterns; ++bits) {
    const double x = patterns.get(0, 0, 0, bits);
    const int exponent = x == 0 || !std::isfinite(x) ? -150 : std::ilogb(x);
    const int lowest = type == Type::bfloat16 ? -126 : -14;
    const double half_step = std::ldexp(0.5, std::max(exponent, lowest) - fraction);
    for (const double y : {x, x + half_step, x - half_step}) {
      const auto z = static_cast<float>(y);
      found.push_back(z);
      found.push_back(std::nextafter(z, std::numeric_limits<float>::infinity()));
      found.push_back(std::nextafter(z, -std::numeric_limits<float>::infinity()));
    }
  }
  return found;
}

AnyArray array_of(const std::vector<float>& numbers) {
  AnyArray values(Type::float32, {1, 1, 1, static_cast<std::int64_t>(numbers.size())});
  std::memcpy(values.bytes().data(), numbers.data(), numbers.size() * sizeof(float));
  return values;
}

}  // namespace

TEST_CASE("conversion: the definition of the formats, at points known by heart") {
  CHECK(decode(kBfloat16, 0x3f80) == 1);
  CHECK(decode(kBfloat16, 0xc049) == -3.140625);
  CHECK(decode(kBfloat16, 0x0001) == 0x1p-133);
  CHECK(decode(kBfloat16, 0x7f7f) == 0x1.fep127);
  CHECK(decode(kFloat16, 0x3c00) == 1);
  CHECK(decode(kFloat16, 0xc248) == -3.140625);
  CHECK(decode(kFloat16, 0x0001) == 0x1p-24);
  CHECK(decode(kFloat16, 0x03ff) == 0x1.ff8p-15);
  CHECK(decode(kFloat16, 0x7bff) == 65504);
  CHECK(encode(kFloat16, 65519.9) == 0x7bff);
  CHECK(encode(kFloat16, 65520) == 0x7c00);
  CHECK(encode(kFloat16, 1 + 0x1p-11) == 0x3c00);    // a tie, to even
  CHECK(encode(kFloat16, 1 + 0x1.8p-10) == 0x3c02);  // the other
  CHECK(encode(kFloat16, -0x1p-25) == 0x8000);       // half of the smallest, to even
  CHECK(encode(kFloat16, 0x1.000002p-25) == 0x0001);
  CHECK(encode(kBfloat16, 0x1.ffp127) == 0x7f80);
  CHECK(encode(kBfloat16, -0x1.fefffep127) == 0xff7f);
  for (const Format& format : {kBfloat16, kFloat16})
    for (std::uint32_t bits = 0; bits < kPatterns; ++bits) {
      const double x = decode(format, static_cast<std::uint16_t>(bits));
      if (!std::isnan(x) && encode(format, x) != bits) FAIL("pattern " << bits);
    }
}

TEST_CASE("conversion: every 16-bit pattern is widened exactly") {
  for (const Type type : {Type::bfloat16, Type::float16})
    check_conversion(all_patterns(type), Type::float32);
}

TEST_CASE("conversion: every 16-bit pattern comes back as it was, and into the other type") {
  for (const Type from : {Type::bfloat16, Type::float16})
    for (const Type to : {Type::bfloat16, Type::float16}) check_conversion(all_patterns(from), to);
}

TEST_CASE("conversion: float32 is rounded to nearest even, at every tie and beside it") {
  for (const Type type : {Type::bfloat16, Type::float16})
    check_conversion(array_of(numbers_around(type)), type);
}

TEST_CASE("conversion: float32 is rounded to nearest even, for random bits") {
  INFO("seed " << test_seed());
  Random random(test_seed());
  std::vector<float> numbers;
  for (int draw = 0; draw < (LOOKBACK_TEST_SANITIZED ? 100000 : 1000000); ++draw)
    numbers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random.bits() >> 32)));
  // All magnitudes of float16 lie in 40 of the 256 binades; half of the draws go there.
  for (std::size_t at = 0; at < numbers.size(); at += 2)
    numbers[at] = static_cast<float>(std::ldexp(random.symmetric(2), int(random.integer(-27, 17))));
  for (const Type type : {Type::bfloat16, Type::float16}) check_conversion(array_of(numbers), type);
}

TEST_CASE("conversion: queries and keys are widened exactly, in every kernel") {
  // The lse of one key is its score q * k; with k = 1 it is q.
  for (const Type type : {Type::bfloat16, Type::float16}) {
    const AnyArray patterns = all_patterns(type);
    for (const bool in_key : {false, true}) {
      AnyProblem p(type, 1, 1, 1, in_key ? 1 : kPatterns, in_key ? kPatterns : 1, 1, 1);
      for (AnyArray* array : {&p.q, &p.k, &p.v}) array->fill([] { return 1.0; });
      std::memcpy((in_key ? p.k : p.q).bytes().data(), patterns.bytes().data(), 2 * kPatterns);
      p.scale = 1;
      // One key of all to each row: a row of its own, by a document for each.
      if (in_key) {
        p.q = AnyArray(type, {1, 1, kPatterns, 1}, {0, 0, 0, 0});
        p.q.fill([] { return 1.0; });
        p.window = lookback::Window{0, 0};
        p.out_stride = p.lse_stride = {0, 0, 1, 0};
      }
      on_every_target([&] {
        for (const Path path : {Path::few_rows, Path::many_rows}) {
          const PathScope scope(path);
          const Results results = p.run();
          Difference found;
          for (std::int64_t bits = 0; bits < kPatterns; ++bits) {
            const double x = patterns.get(0, 0, 0, bits), lse = results.lse.get(0, 0, bits, 0);
            // A score of -inf hides its key, one of +inf makes its row NaN.
            const double expected = x > 0 && std::isinf(x) ? NAN : x;
            found.expect(same_bits(lse, expected), lse, expected, bits);
          }
          INFO(name_of(type) << (in_key ? " key" : " query") << ", path " << name_of(path));
          CHECK(found.text() == "");
        }
      });
    }
  }
}
