// Parts of an AnyProblem as problems of their own: some rows, some keys, one sequence. Where things
// stand is said explicitly, so that each part is the same mathematics as in the whole.
#pragma once

#include "support/any_problem.hpp"

namespace lookback::test {

/// Rows [first, first + count) of every sequence. Not of packed sequences. first is a multiple of
/// block_rows if there are blocks.
AnyProblem rows_of(const AnyProblem& p, std::int64_t first, std::int64_t count);

/// Keys [first, first + count) of every sequence, of which those count that did in the whole. Not
/// of packed sequences. first is a multiple of block_keys if there are blocks. No sinks.
AnyProblem keys_of(const AnyProblem& p, std::int64_t first, std::int64_t count);

/// One sequence of a batch or of packed sequences, as a batch of one.
AnyProblem sequence_of(const AnyProblem& p, std::int64_t s);

/// One query head with its key-value head.
AnyProblem head_of(const AnyProblem& p, std::int64_t h);

/// Of results of the whole, those of a part.
Results rows_of(const Results& r, std::int64_t first, std::int64_t count);
Results sequence_of(const AnyProblem& p, const Results& r, std::int64_t s);

}  // namespace lookback::test
