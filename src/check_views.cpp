#include <string>
#include <vector>

#include "align_run.hpp"
#include "check.hpp"
#include "message.hpp"

namespace lookback {
namespace {

/// An output of the views, against the extents it must have; -1 leaves one open.
class ViewChecker {
 public:
  ViewChecker(const Problem& problem, const Views& views, bool has_context)
      : p_(problem),
        heads_(views.heads == Heads::each ? problem.H : 1),
        type_(problem.q.type == Type::float64 ? Type::float64 : Type::float32) {
    if (problem.options.bias) inputs_.push_back({"bias", *problem.options.bias});
    if (problem.options.mask) inputs_.push_back({"mask", *problem.options.mask});
    if (problem.options.blocks) inputs_.push_back({"blocks", problem.options.blocks->visible});
    if (has_context) outputs_.push_back({"out", problem.outputs.out});
    if (problem.outputs.lse) outputs_.push_back({"lse", *problem.outputs.lse});
  }

  void check(const char* name, const OutputTensor& output, std::int64_t positions,
             std::int64_t features, Type type) {
    const Tensor tensor = output;
    check_array({name, tensor});
    require(tensor.type == type, name, " is ", name_of(tensor.type), "; with ", name_of(p_.q.type),
            " q it is ", name_of(type));
    const Extents wanted{p_.q.extent[0], heads_, positions < 0 ? tensor.extent[2] : positions,
                         features < 0 ? tensor.extent[3] : features};
    require(tensor.extent == wanted, name, " has extents ", text_of(tensor.extent),
            "; they must be ", text_of(wanted));
    check_output_memory({name, tensor}, {{"q", p_.q}, {"k", p_.k}, {"v", p_.v}});
    for (const auto* others : {&inputs_, &outputs_}) {
      for (const auto& [other, memory] : *others) {
        check_output_memory({name, tensor}, {{other, memory}});
      }
    }
    outputs_.push_back({name, tensor});
  }

  void check(const char* name, const std::optional<OutputTensor>& output, std::int64_t positions,
             std::int64_t features) {
    if (output) check(name, *output, positions, features, type_);
  }

  Type type() const { return type_; }

 private:
  const Problem& p_;
  std::int64_t heads_;
  Type type_;
  std::vector<std::pair<const char*, Tensor>> inputs_, outputs_;
};

void check_rows(const Problem& p, const Views& views, ViewChecker& checker) {
  const RowsView& rows = *views.rows;
  const std::int64_t n_q = p.q.extent[2];
  for (std::size_t r = 0; r < rows.rows.size(); ++r) {
    require(rows.rows[r] >= 0 && rows.rows[r] < n_q, "rows[", r, "] is ", rows.rows[r],
            "; it must be from 0 to ", n_q - 1, ", the last of the ", n_q, " rows");
  }
  require(rows.stage == Stage::weights || views.heads == Heads::each,
          "rows asks for scores of reduced heads; scores are given per head, weights for both");
  checker.check("rows.values", rows.values, static_cast<std::int64_t>(rows.rows.size()),
                p.k.extent[2], checker.type());
}

void check_top(const Problem& p, const TopView& top, ViewChecker& checker) {
  const std::int64_t n_q = p.q.extent[2], k = top.index.extent[3];
  require(k >= 1 && k <= 64, "top.index has ", k, " keys per row; it must have from 1 to 64");
  checker.check("top.index", top.index, n_q, k, Type::int64);
  checker.check("top.weight", top.weight, n_q, k, checker.type());
}

void check_pooled(const Problem& p, const PooledView& pooled, ViewChecker& checker) {
  const PooledView::Region all{0, p.q.extent[2], 0, p.k.extent[2]};
  const PooledView::Region region = pooled.region.value_or(all);
  require(!p.is_packed(), "pooled has no meaning with q_bounds; pool each sequence by itself");
  require(
      0 <= region.first_row && region.first_row <= region.end_row && region.end_row <= all.end_row,
      "pooled.region has rows ", region.first_row, " to ", region.end_row,
      "; they must lie in order within 0 to ", all.end_row);
  require(
      0 <= region.first_key && region.first_key <= region.end_key && region.end_key <= all.end_key,
      "pooled.region has keys ", region.first_key, " to ", region.end_key,
      "; they must lie in order within 0 to ", all.end_key);
  const std::int64_t rows = region.end_row - region.first_row;
  const std::int64_t keys = region.end_key - region.first_key;
  require(pooled.cells.extent[2] <= rows, "pooled.cells has ", pooled.cells.extent[2],
          " rows of cells for ", rows, " rows; it must have at most one per row");
  require(pooled.cells.extent[3] <= keys, "pooled.cells has ", pooled.cells.extent[3],
          " columns of cells for ", keys, " keys; it must have at most one per key");
  checker.check("pooled.cells", pooled.cells, -1, -1, checker.type());
}

void check_distances(const DistanceView& distances, ViewChecker& checker) {
  checker.check("distances.share", distances.share, 1, 1);
  require(distances.first >= 0, "distances.first is ", distances.first, "; it must be at least 0");
  if (!distances.mass) return;
  const std::int64_t count = distances.mass->extent[2];
  checker.check("distances.mass", distances.mass, -1, 1);
  require(count >= 1 && (!distances.is_signed || count % 2 == 1), "distances.mass has ", count,
          " distances; it must have at least 1, and an odd number if signed");
}

}  // namespace

void check_views(const Problem& p, const Views& views, bool has_context) {
  ViewChecker checker(p, views, has_context);
  const std::int64_t n_q = p.q.extent[2], n_k = p.k.extent[2];
  if (views.rows) check_rows(p, views, checker);
  if (views.top) check_top(p, *views.top, checker);
  if (views.summary) {
    checker.check("summary.entropy", views.summary->entropy, n_q, 1);
    checker.check("summary.largest", views.summary->largest, n_q, 1);
    checker.check("summary.position", views.summary->position, n_q, 1);
    checker.check("summary.distance", views.summary->distance, n_q, 1);
  }
  if (views.received) {
    checker.check("received.sum", views.received->sum, n_k, 1);
    checker.check("received.max", views.received->max, n_k, 1);
    require(views.received->last.value_or(0) >= 0, "received.last is ",
            views.received->last.value_or(0), "; it must be at least 0");
  }
  if (views.pooled) check_pooled(p, *views.pooled, checker);
  if (views.distances) check_distances(*views.distances, checker);
}

}  // namespace lookback
