// How a problem is cut into blocks of rows and chunks of keys. Nothing here may change a result:
// only who computes it when.
#pragma once

#include <vector>

#include "kernels/kernel_table.hpp"
#include "problem.hpp"

namespace lookback {

/// Rows that are worked on together: they share a key-value head of one sequence.
struct BlockOfRows {
  Sequence sequence;
  std::int64_t first_head;
  std::int64_t first_row;  // of the rows of heads_per_unit heads, head by head
  std::int64_t n_rows;
};

struct Plan {
  const Problem* problem;
  std::int64_t heads_per_unit;  // query heads whose rows go together: 1, or all of a key-value head
  std::int64_t most_rows;       // of a block
  std::int64_t row_step;        // rows of a block are a multiple of this, but in the last one
  std::int64_t blocks;
  std::int64_t blocks_per_task;  // several, where one is too small to be worth a task
  std::int64_t chunks;           // of the longest sequence
  std::int64_t chunks_per_wave;  // 0: each block runs through all chunks; else blocks are split
  std::int64_t chunks_per_task;  // of a split block: neighbours, so that the next is fetched early
  int workers;
  bool few_rows;   // every block goes to the kernel for few rows, or (false) those that fit it
  bool many_rows;  // every block goes to the kernel for many rows
  std::vector<std::int64_t> first_block;  // of each packed sequence; empty when all are alike

  bool splits_keys() const { return chunks_per_wave > 0; }
  BlockOfRows block(std::int64_t index) const;

 private:
  friend class Planner;
  std::int64_t blocks_per_unit(std::int64_t n_q) const;
  std::int64_t blocks_of(std::int64_t n_q) const;
};

/// For tests, which must reach every path with small inputs. automatic is the default.
enum class Path { automatic, many_rows, few_rows, many_rows_split, few_rows_split };
void force_path(Path path);

template <class T>
Plan make_plan(const Problem& problem, const kernels::Kernels<T>& kernels, int max_workers);

}  // namespace lookback
