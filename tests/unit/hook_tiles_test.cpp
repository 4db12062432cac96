// What a score hook is called with: every score that a row sees, exactly once, with its right
// place, after scale, softcap, ALiBi and bias; from several threads at once.
#include <tbb/task_arena.h>

#include <atomic>
#include <set>
#include <thread>

#include "catch.hpp"
#include "support/any_random.hpp"
#include "support/any_reference.hpp"
#include "support/paths.hpp"

using namespace lookback::test;
using lookback::ScoreHook;
using lookback::Type;

namespace {

constexpr int kDraws = LOOKBACK_TEST_SANITIZED ? 60 : 400;

/// Writes down every score by its place. Different tiles write to different places.
class Recorder {
 public:
  explicit Recorder(const AnyProblem& p) : p_(p) {
    std::size_t size = 0;
    for (std::int64_t s = 0; s < p.sequences(); ++s) {
      start_.push_back(size);
      size += std::size_t(p.H() * p.sequence(s).n_q * p.sequence(s).n_k);
    }
    calls_ = std::vector<std::atomic<int>>(size);
    scores_.resize(size);
  }

  static void hook(const lookback_score_tile* tile, void* user) {
    static_cast<Recorder*>(user)->record(*tile);
  }
  int calls(std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return calls_[index(s, h, i, j)];
  }
  double score(std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return scores_[index(s, h, i, j)];
  }
  int wrong_tiles() const { return wrong_; }

 private:
  std::size_t index(std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t j) const {
    const AnyProblem::Sequence of = p_.sequence(s);
    return start_[std::size_t(s)] + std::size_t((h * of.n_q + i) * of.n_k + j);
  }
  bool is_right(const lookback_score_tile& t) const {
    if (t.sequence < 0 || t.sequence >= p_.sequences()) return false;
    const AnyProblem::Sequence s = p_.sequence(t.sequence);
    return t.scores && t.reserved == 0 && t.rows >= 1 && t.keys >= 1 && t.head >= 0 &&
           t.head < p_.H() && t.first_row >= 0 && t.first_row + t.rows <= s.n_q &&
           t.first_key >= 0 && t.first_key + t.keys <= s.length &&
           t.first_position == t.first_row + s.offset &&
           (t.is_float64 != 0) == (p_.compute_type() == Type::float64);
  }
  void record(const lookback_score_tile& t) {
    if (!is_right(t)) {
      ++wrong_;
      return;
    }
    for (std::int64_t r = 0; r < t.rows; ++r)
      for (std::int64_t c = 0; c < t.keys; ++c) {
        const std::size_t to = index(t.sequence, t.head, t.first_row + r, t.first_key + c);
        const std::int64_t at = r * t.row_stride + c * t.key_stride;
        scores_[to] = t.is_float64 != 0 ? static_cast<const double*>(t.scores)[at]
                                        : static_cast<const float*>(t.scores)[at];
        ++calls_[to];
      }
  }

  const AnyProblem& p_;
  std::vector<std::size_t> start_;
  std::vector<std::atomic<int>> calls_;
  std::vector<double> scores_;
  std::atomic<int> wrong_{0};
};

/// The score that the formula gives, and a bound of the kind that any_reference.hpp derives.
template <class T>
std::pair<Real, Real> expected_score(const AnyProblem& p, const AnyProblem::Sequence& s,
                                     std::int64_t h, std::int64_t i, std::int64_t j) {
  constexpr Real u = std::numeric_limits<T>::epsilon() / 2;
  const std::int64_t d = p.q.extent(3);
  const Real scale = p.scale ? Real(*p.scale) : 1 / std::sqrt(Real(d));
  Real score = 0, magnitude = 0;
  for (std::int64_t c = 0; c < d; ++c) {
    const Real product = scale * p.q.get(s.batch, h, s.first_q + i, c) *
                         p.k.get(s.batch, p.kv_head(h), s.first_k + j, c);
    score += product;
    magnitude += std::fabs(product);
  }
  Real bound = Real(d + 4) * u * magnitude;
  if (p.softcap) {
    score = *p.softcap * std::tanh(score / *p.softcap);
    bound += 16 * u * std::fabs(score);
  }
  if (p.alibi) {
    const Real term = p.slope(s.index, h) * std::fabs(Real(i + s.offset - j));
    score -= term;
    bound += u * (2 * std::fabs(term) + std::fabs(score));
  }
  if (p.bias) {
    score += p.bias_at(s.batch, h, i, j);
    bound += u * std::fabs(score);
  }
  return {score, bound};
}

std::string tile_difference(const AnyProblem& p, const Recorder& recorder) {
  Difference found;
  for (std::int64_t n = 0; n < p.sequences(); ++n) {
    const AnyProblem::Sequence s = p.sequence(n);
    for (std::int64_t h = 0; h < p.H(); ++h)
      for (std::int64_t i = 0; i < s.n_q; ++i)
        for (std::int64_t j = 0; j < s.n_k; ++j) {
          const int calls = recorder.calls(n, h, i, j);
          const bool sees = p.sees(s, h, i, j);
          found.expect(sees ? calls == 1 : calls <= 1, calls, sees, "calls", n, h, i, j);
          if (!sees || calls == 0) continue;
          const auto [score, bound] = p.compute_type() == Type::float64
                                          ? expected_score<double>(p, s, h, i, j)
                                          : expected_score<float>(p, s, h, i, j);
          const Real actual = recorder.score(n, h, i, j);
          found.expect(close(actual, score, bound), actual, score, "score", n, h, i, j);
        }
  }
  return found.text();
}

/// Where its rows and keys stand decides; also counts the threads it runs on.
struct Noise {
  TestHook noise{TestHook::Kind::add_noise};
  std::atomic<int> inside{0}, most{0}, calls{0};

  static void hook(const lookback_score_tile* tile, void* user) {
    auto& self = *static_cast<Noise*>(user);
    const int now = ++self.inside;
    int before = self.most;
    while (now > before && !self.most.compare_exchange_weak(before, now)) {
    }
    if (self.calls++ < 64) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    TestHook::hook(tile, &self.noise);
    --self.inside;
  }
};

}  // namespace

TEST_CASE("hook tiles: every visible score exactly once, in its place, on every path") {
  INFO("seed " << test_seed());
  Allowed allowed;
  allowed.hook = false;
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::uint64_t seed = test_seed() + 500000 + std::uint64_t(draw);
    const AnyProblem p = random_any_problem(seed, static_cast<Type>(draw % 4), allowed);
    INFO("draw " << draw << ": " << p.text());
    on_every_target([&] {
      const PathScope scope(kPaths[std::size_t(draw / 4 % 5)]);
      Recorder recorder(p);
      lookback::Options options = p.options();
      options.hook = ScoreHook{&Recorder::hook, &recorder};
      options.threads = 1 + draw % 2;
      const Results with_hook = p.run_with(options);
      std::string found = tile_difference(p, recorder);
      if (recorder.wrong_tiles() > 0) found += " some tiles have wrong places";
      // A hook that changes nothing changes nothing.
      found += bit_difference(with_hook, p.run());
      if (!found.empty()) FAIL_CHECK(found);
    });
  }
}

TEST_CASE("hook tiles: several threads at once, the same bits as one") {
  INFO("seed " << test_seed());
  AnyProblem p(Type::float32, 1, 4, 4, 300, 300, 16, 16);
  Random random(test_seed());
  for (AnyArray* array : {&p.q, &p.k, &p.v}) array->fill([&] { return random.normal(); });
  const auto run = [&p](Noise& noise, int threads) {
    lookback::Options options = p.options();
    options.hook = ScoreHook{&Noise::hook, &noise};
    options.threads = threads;
    return p.run_with(options);
  };
  for (const auto path : kPaths) {
    const PathScope scope(path);
    Noise alone, together;
    const Results expected = run(alone, 1);
    CHECK(alone.most == 1);
    const Results found = run(together, 2);
    INFO("path " << name_of(path));
    CHECK(bit_difference(found, expected) == "");
    // They slept inside the hook, so where there are two threads they met there.
    if (std::thread::hardware_concurrency() > 1) CHECK(together.most == 2);
    p.hook = TestHook{TestHook::Kind::add_noise};
    CHECK(bit_difference(p.run(), expected) == "");
    p.hook.reset();
  }
}
