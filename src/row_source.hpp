// The rows of a block as the kernels want them: pointers and key ranges, per row.
#pragma once

#include <span>
#include <vector>

#include "kernels/kernel_table.hpp"
#include "plan.hpp"
#include "problem.hpp"

namespace lookback {

/// What a thread keeps the rows of its block in.
struct RowMemory {
  std::vector<kernels::Row> rows;
  std::vector<kernels::RowVisibility> visibility_rows;
  std::vector<kernels::RowTerms> term_rows;
  kernels::Visibility visibility;
  kernels::Terms terms;
  kernels::Ahead ahead;

  void clear() {
    rows.clear();
    visibility_rows.clear();
    term_rows.clear();
  }
};

template <class T>
class RowSource {
 public:
  explicit RowSource(const Problem& problem);

  /// Valid until memory is used for another block.
  kernels::RowBlock<T> rows(const BlockOfRows& block, std::int64_t heads_per_unit,
                            RowMemory& memory) const;
  /// The same for chosen rows of one head.
  kernels::RowBlock<T> rows(const Sequence& sequence, std::int64_t head,
                            std::span<const std::int64_t> rows, RowMemory& memory) const;
  /// Of a block that comes later.
  kernels::Ahead ahead(const BlockOfRows& block, std::int64_t heads_per_unit) const;
  T rate() const { return rate_; }
  std::int64_t features() const { return p_.d; }
  std::int64_t value_features() const { return p_.d_v; }

 private:
  void add(const Sequence& sequence, std::int64_t h, std::int64_t first, std::int64_t count,
           RowMemory& memory) const;
  kernels::RowBlock<T> finish(const Sequence& sequence, std::int64_t head, RowMemory& memory) const;
  void add_places(const Sequence& sequence, std::int64_t h, std::int64_t first, std::int64_t end,
                  std::vector<kernels::Row>& rows) const;
  kernels::Matrix matrix(const Tensor& tensor, const Sequence& sequence, std::int64_t head,
                         std::int64_t position) const;
  kernels::RowVisibility visibility(const Sequence& sequence, std::int64_t h, std::int64_t i) const;
  kernels::RowTerms terms(const Sequence& sequence, std::int64_t h, std::int64_t i) const;
  kernels::Visibility shared_visibility(const Sequence& sequence) const;
  kernels::Terms shared_terms(const Sequence& sequence) const;

  const Problem& p_;
  const Options& o_;
  T rate_;
  bool has_visibility_, has_terms_;
  Strides bias_{}, mask_{}, blocks_{};  // 0 where broadcast
};

}  // namespace lookback
