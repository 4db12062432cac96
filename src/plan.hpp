// How a problem is cut into tasks. Nothing here may change a result: only who computes it when.
#pragma once

#include "check.hpp"
#include "kernels/kernel_table.hpp"

namespace lookback {

struct Plan {
  bool few_rows;                // the kernel shape
  std::int64_t heads_per_unit;  // query heads whose rows go together: 1, or all of a key-value head
  std::int64_t units;           // batch x groups of heads
  std::int64_t rows_per_unit;
  std::int64_t rows_per_block;
  std::int64_t blocks_per_unit;
  std::int64_t blocks_per_task;  // several, where one is too small to be worth a task
  std::int64_t chunks;
  std::int64_t chunks_per_wave;  // 0: each block runs through all chunks; else blocks are split
  int workers;
  kernels::Sizes sizes;  // of a full block

  std::int64_t blocks() const { return units * blocks_per_unit; }
  bool splits_keys() const { return chunks_per_wave > 0; }
};

/// For tests, which must reach every path with small inputs. automatic is the default.
enum class Path { automatic, many_rows, few_rows, many_rows_split, few_rows_split };
void force_path(Path path);

template <class T>
Plan make_plan(const Problem& problem, const kernels::Kernels<T>& kernels, int max_workers);

/// An estimate of the work, in floating-point operations.
double flops_of(const Problem& problem);

}  // namespace lookback
