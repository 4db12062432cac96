// B55, and what must hold of any matrix of weights, at sizes where the matrix would not fit.
#include <numeric>

#include "catch.hpp"
#include "support/cases.hpp"
#include "support/view_request.hpp"

using namespace lookback::test;
using lookback::Heads;
using lookback::PooledView;
using lookback::Pooling;
using lookback::Position;
using lookback::Stage;
using lookback::Type;

namespace {

constexpr Real u = std::numeric_limits<float>::epsilon() / 2;

/// What the weights of a row may sum to beside 1: each is e / sum, and the sum's roundings, those
/// of e and of the product count; see support/error_bound.hpp. The scores' own do not.
Real row_bound(std::int64_t n_k) {
  return (3 * (512 + static_cast<Real>(n_k) / 512) + 16) * u;
}
/// A sum over rows, group by group.
Real received_bound(std::int64_t n_q) {
  return (196 + static_cast<Real>(n_q) / 192) * u;
}

AnyProblem large_problem(std::int64_t n, std::int64_t d) {
  AnyProblem p(Type::float32, 1, 1, 1, n, n, d, 1);
  Random random(test_seed());
  for (AnyArray* a : {&p.q, &p.k, &p.v}) a->fill([&] { return random.normal(); });
  return p;
}

Real sum_of(const Array<float>& a) {
  Real sum = 0;
  a.for_each_place([&](auto b, auto h, auto i, auto c) { sum += a.at(b, h, i, c); });
  return sum;
}

/// Views of chosen rows against the same rows in full.
std::string row_difference(const AnyProblem& p, const ViewResults<float>& r,
                           const std::vector<std::int64_t>& rows) {
  const std::int64_t n_k = p.k.extent(2), offset = p.sequence(0).offset;
  Difference found;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const std::int64_t i = rows[at];
    std::vector<std::pair<float, std::int64_t>> order;
    Real sum = 0, entropy = 0, position = 0, distance = 0;
    for (std::int64_t j = 0; j < n_k; ++j) {
      const float w = r.rows->at(0, 0, static_cast<std::int64_t>(at), j);
      order.emplace_back(-w, j);
      sum += w;
      entropy -= w == 0 ? 0 : w * std::log(Real(w));
      position += w * static_cast<Real>(j);
      distance += w * std::fabs(static_cast<Real>(i + offset - j));
    }
    const std::int64_t visible = p.causal ? std::clamp<std::int64_t>(i + offset + 1, 0, n_k) : n_k;
    const bool empty = visible == 0;
    found.expect(close(sum, empty ? 0 : 1, empty ? 0 : row_bound(n_k)), sum, empty ? 0 : 1, i);
    std::partial_sort(order.begin(), order.begin() + r.top_index->extent(3), order.end());
    for (std::int64_t t = 0; t < r.top_index->extent(3); ++t) {
      const auto& [w, j] = order[static_cast<std::size_t>(t)];
      const std::int64_t index = t < visible ? j : -1;
      found.expect(r.top_index->at(0, 0, i, t) == index, Real(r.top_index->at(0, 0, i, t)),
                   Real(index), "index", i, t);
      found.expect(r.top_weight->at(0, 0, i, t) == -w, r.top_weight->at(0, 0, i, t), -w, i, t);
    }
    const Real rounding = (132 + static_cast<Real>(n_k) / 128) * u;
    found.expect(r.largest->at(0, 0, i, 0) == -order[0].first, r.largest->at(0, 0, i, 0),
                 -order[0].first, "largest", i);
    found.expect(
        close(r.entropy->at(0, 0, i, 0), entropy, 10 * u * (entropy + 1) + rounding * entropy),
        r.entropy->at(0, 0, i, 0), entropy, "entropy", i);
    if (empty) continue;
    position /= sum;
    distance /= sum;
    found.expect(close(r.position->at(0, 0, i, 0), position, 2 * rounding * (position + 256)),
                 r.position->at(0, 0, i, 0), position, "position", i);
    found.expect(close(r.distance->at(0, 0, i, 0), distance, 2 * rounding * distance),
                 r.distance->at(0, 0, i, 0), distance, "distance", i);
  }
  return found.text();
}

/// The cells of one row of cells, of height rows, from those rows in full.
std::string cell_difference(const Array<float>& cells, std::int64_t cell_row,
                            const Array<float>& rows, std::int64_t n_k, Pooling pooling) {
  const std::int64_t C = cells.extent(3), height = rows.extent(2);
  Difference found;
  for (std::int64_t c = 0; c < C; ++c) {
    const std::int64_t from = c * n_k / C, to = (c + 1) * n_k / C;
    Real sum = 0, most = 0;
    for (std::int64_t i = 0; i < height; ++i) {
      for (std::int64_t j = from; j < to; ++j) {
        sum += rows.at(0, 0, i, j);
        most = std::fmax(most, rows.at(0, 0, i, j));
      }
    }
    const Real mean = sum / static_cast<Real>(height * (to - from));
    const Real bound = mean * u * static_cast<Real>(height + to - from + 4);
    const Real actual = cells.at(0, 0, cell_row, c);
    const Real expected = pooling == Pooling::mean ? mean : most;
    found.expect(close(actual, expected, pooling == Pooling::mean ? bound : 0), actual, expected,
                 cell_row, c);
  }
  return found.text();
}

/// Sums over the whole matrix: one for each row that sees something.
void check_totals(const ViewResults<float>& r, Real rows, std::int64_t n) {
  const Real bound = rows * (row_bound(n) + received_bound(n));
  CHECK(close(sum_of(*r.received_sum), rows, bound));
  CHECK(close(sum_of(*r.cells) * static_cast<Real>(n) * static_cast<Real>(n) /
                  static_cast<Real>(r.cells->extent(2) * r.cells->extent(3)),
              rows, 2 * bound));
  INFO("mass " << sum_of(*r.mass) << ", received " << sum_of(*r.received_sum));
  CHECK(close(sum_of(*r.mass), rows, bound));
}

void check_invariants(const AnyProblem& p) {
  const std::int64_t n = p.q.extent(2), offset = p.sequence(0).offset, cells = 128,
                     height = n / cells;
  ViewRequest request = ViewRequest::everything(p);
  request.rows.clear();
  for (std::int64_t i = 0; i < n; i += n / 31) request.rows.push_back(i);
  request.rows.push_back(n - 1);
  request.R = request.C = cells;
  request.mass = 100;
  const auto r = run_views<float>(p, request);
  CHECK(row_difference(p, r, request.rows) == "");
  check_totals(r, static_cast<Real>(std::min(n, n + offset)), n);

  for (const std::int64_t cell_row : {std::int64_t{0}, cells / 3, cells - 1}) {
    INFO("row " << cell_row << " of cells");
    ViewRequest full;
    full.rows_at = Stage::weights;
    full.rows.resize(static_cast<std::size_t>(height));
    std::iota(full.rows.begin(), full.rows.end(), cell_row * height);
    const auto rows = run_views<float>(p, full);
    CHECK(cell_difference(*r.cells, cell_row, *rows.rows, n, Pooling::mean) == "");
  }
}

}  // namespace

TEST_CASE("align: the sums that must hold, at n = 32,768") {
  const std::int64_t n = LOOKBACK_TEST_SANITIZED ? 2048 : 32768;
  AnyProblem p = large_problem(n, 8);
  check_invariants(p);
}

TEST_CASE("align: the sums that must hold, causal with rows that see nothing, at n = 32,768") {
  const std::int64_t n = LOOKBACK_TEST_SANITIZED ? 2048 : 32768;
  AnyProblem p = large_problem(n, 8);
  p.causal = true;
  p.anchor = Position::Anchor::offset;
  p.one_offset = -1000;
  check_invariants(p);
}

TEST_CASE("B55 the map of three positions") {
  const auto filled = filled_problem<float>({.n_q = 3, .n_k = 3, .d = 4, .d_v = 4});
  AnyProblem p(Type::float32, 1, 1, 1, 3, 3, 4, 4);
  p.q.for_each_place([&](auto b, auto h, auto i, auto c) {
    p.q.set(b, h, i, c, filled.q.at(b, h, i, c));
    p.k.set(b, h, i, c, filled.k.at(b, h, i, c));
  });
  p.causal = true;
  ViewRequest request;
  request.received_sum = true;
  constexpr double expected[] = {1.8863244, 0.8286544, 0.2850212};
  const auto r = run_views<float>(p, request);
  for (std::int64_t j = 0; j < 3; ++j) {
    CHECK(close(r.received_sum->at(0, 0, j, 0), expected[j], 2e-6L));
  }
}

TEST_CASE("B55 rows, column sums, block means and heaviest keys of 16,384 positions in one call") {
  const std::int64_t n = LOOKBACK_TEST_SANITIZED ? 2048 : 16384;
  const AnyProblem p = large_problem(n, 16);
  ViewRequest request = ViewRequest::everything(p);
  request.rows.resize(11);
  std::iota(request.rows.begin(), request.rows.end(), 100);
  request.R = request.C = 128;
  for (const Pooling pooling : {Pooling::mean, Pooling::max}) {
    request.pooling = pooling;
    const auto r = run_views<float>(p, request);
    CHECK(row_difference(p, r, request.rows) == "");
    CHECK(close(sum_of(*r.received_sum), Real(n), Real(n) * (row_bound(n) + received_bound(n))));
    ViewRequest full;
    full.rows_at = Stage::weights;
    full.rows.resize(static_cast<std::size_t>(n / 128));
    std::iota(full.rows.begin(), full.rows.end(), 5 * n / 128);
    CHECK(cell_difference(*r.cells, 5, *run_views<float>(p, full).rows, n, pooling) == "");
  }
}
