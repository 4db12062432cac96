#include "support/view_request.hpp"

#include <algorithm>
#include <sstream>

namespace lookback::test {
namespace {

class RandomRequest {
 public:
  RandomRequest(Random& random, const AnyProblem& p)
      : random_(random), H_(p.H()), n_q_(p.q.extent(2)), n_k_(p.k.extent(2)) {}

  ViewRequest draw() {
    ViewRequest r;
    // No heads have no mean.
    if (H_ > 0 && chance(50)) r.heads = chance(50) ? Heads::mean : Heads::max;
    if (chance(70)) rows(r);
    if (chance(60)) r.top = chance(50) ? pick({1, 2, 5, 8, 63, 64}) : random_.integer(1, 64);
    for (bool* wanted : {&r.entropy, &r.largest, &r.position, &r.distance, &r.received_sum,
                         &r.received_max, &r.lse, &r.context}) {
      *wanted = chance(60);
    }
    if (chance(50)) r.last = chance(20) ? 0 : random_.integer(0, n_q_ + 3);
    if (chance(70)) pooled(r);
    if (chance(60)) mass(r);
    if (chance(60)) r.share = chance(50) ? random_.integer(0, 5) : random_.integer(0, n_k_ + 3);
    if (chance(60)) r.stride_seed = random_.bits();
    return r;
  }

 private:
  bool chance(int percent) { return random_.integer(1, 100) <= percent; }
  std::int64_t pick(std::initializer_list<std::int64_t> from) {
    return from.begin()[random_.integer(0, static_cast<std::int64_t>(from.size()) - 1)];
  }

  /// A few, in any order, some of them twice; or many, in order, with gaps.
  void rows(ViewRequest& r) {
    constexpr Stage stages[] = {Stage::scaled, Stage::capped, Stage::final, Stage::weights};
    r.rows_at = r.heads == Heads::each ? stages[random_.integer(0, 3)] : Stage::weights;
    if (n_q_ == 0) return;
    if (chance(20)) {
      for (std::int64_t i = 0; i < n_q_; ++i)
        if (chance(70)) r.rows.push_back(i);
      return;
    }
    const std::int64_t count = random_.integer(0, 20);
    for (std::int64_t at = 0; at < count; ++at) r.rows.push_back(random_.integer(0, n_q_ - 1));
  }

  void pooled(ViewRequest& r) {
    r.pooling = chance(60) ? Pooling::mean : Pooling::max;
    std::int64_t rows = n_q_, keys = n_k_;
    if (chance(50)) {
      const auto [first_row, end_row] = range(n_q_);
      const auto [first_key, end_key] = range(n_k_);
      r.region = PooledView::Region{first_row, end_row, first_key, end_key};
      rows = end_row - first_row;
      keys = end_key - first_key;
    }
    r.R = cells(rows);
    r.C = cells(keys);
  }
  std::pair<std::int64_t, std::int64_t> range(std::int64_t n) {
    const std::int64_t a = random_.integer(0, n), b = random_.integer(0, n);
    return {std::min(a, b), std::max(a, b)};
  }
  std::int64_t cells(std::int64_t n) {
    if (chance(10)) return n;
    if (chance(3)) return 0;
    return chance(50) ? std::min<std::int64_t>(n, random_.integer(1, 9))
                      : random_.integer(std::min<std::int64_t>(n, 1), n);
  }

  void mass(ViewRequest& r) {
    r.mass = chance(50) ? random_.integer(1, 6) : random_.integer(1, n_k_ + n_q_ + 3);
    r.is_signed = chance(50);
    if (r.is_signed && r.mass % 2 == 0) ++r.mass;
  }

  Random& random_;
  std::int64_t H_, n_q_, n_k_;
};

}  // namespace

ViewRequest random_request(Random& random, const AnyProblem& p) {
  return RandomRequest(random, p).draw();
}

ViewRequest ViewRequest::everything(const AnyProblem& p) {
  const std::int64_t n_q = p.q.extent(2), n_k = p.k.extent(2);
  ViewRequest r;
  r.rows_at = Stage::weights;
  for (std::int64_t i = 0; i < n_q; i += 1 + n_q / 13) r.rows.push_back(i);
  r.top = 8;
  r.entropy = r.largest = r.position = r.distance = true;
  r.received_sum = r.received_max = true;
  r.pooling = Pooling::mean;
  r.R = std::min<std::int64_t>(n_q, 7);
  r.C = std::min<std::int64_t>(n_k, 11);
  r.mass = 9;
  r.share = 4;
  r.lse = true;
  return r;
}

std::string ViewRequest::text() const {
  std::ostringstream to;
  to << "heads " << static_cast<int>(heads);
  if (rows_at) {
    to << ", stage " << static_cast<int>(*rows_at) << " of rows";
    for (const std::int64_t i : rows) to << ' ' << i;
  }
  to << ", top " << top << ", summary " << entropy << largest << position << distance
     << ", received " << received_sum << received_max << " last " << last.value_or(-1);
  if (pooling) to << ", pooling " << static_cast<int>(*pooling) << " to " << R << " x " << C;
  if (region) {
    to << " of rows " << region->first_row << " to " << region->end_row << ", keys "
       << region->first_key << " to " << region->end_key;
  }
  to << ", mass " << mass << (is_signed ? " signed" : "") << ", share " << share.value_or(-1)
     << (lse ? ", lse" : "") << (context ? ", context" : "")
     << (stride_seed ? ", strided" : ", compact");
  return to.str();
}

void count_views(const ViewRequest& r, std::map<std::string, int>& counts) {
  const auto count = [&](const std::string& name, bool used) { counts[name] += used ? 1 : 0; };
  for (int heads = 0; heads < 3; ++heads)
    count("heads " + std::to_string(heads), static_cast<int>(r.heads) == heads);
  for (int stage = 0; stage < 4; ++stage)
    count("stage " + std::to_string(stage), r.rows_at && static_cast<int>(*r.rows_at) == stage);
  count("top", r.top > 0);
  count("entropy", r.entropy);
  count("largest", r.largest);
  count("position", r.position);
  count("distance", r.distance);
  count("received sum", r.received_sum);
  count("received max", r.received_max);
  count("last rows", r.last && (r.received_sum || r.received_max));
  count("pooled mean", r.pooling == Pooling::mean);
  count("pooled maximum", r.pooling == Pooling::max);
  count("region", r.pooling && r.region);
  count("mass", r.mass > 0 && !r.is_signed);
  count("mass by sign", r.mass > 0 && r.is_signed);
  count("share", r.share.has_value());
  count("lse", r.lse);
  count("context", r.context);
  count("strided outputs", r.stride_seed.has_value());
}

}  // namespace lookback::test
