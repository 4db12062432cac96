// Short turns of the machine's limits, on any number of threads: FMA peak and read bandwidth.
#pragma once

#include <cstdint>
#include <functional>
#include <lookback/tensor.hpp>
#include <vector>

namespace lookback::bench {

/// How long a turn aims to last: long against starting threads, short against a neighbour's moods.
inline constexpr double kTurnSeconds = 0.02;

/// Works for about kTurnSeconds and returns the rate, in units per second.
using Turn = std::function<double()>;

/// The thread counts that are measured unless others are asked for: 1 and 2, as far as the machine
/// has them.
std::vector<int> thread_counts();

/// Where the multiply-adds of an FMA peak find their operands.
enum class Feed { registers, l1 };

/// flop/s of all threads together, in the instruction set that the engine uses.
Turn fma_turn(Type type, Feed feed, int threads);

/// byte/s of reading `data`, cut among the threads. At least one pass, however long it takes.
Turn read_turn(const void* data, std::int64_t bytes, int threads);

/// byte/s of every thread reading `bytes` of its own again and again, which then stay in the
/// smallest cache that holds them.
Turn cache_read_turn(std::int64_t bytes, int threads);

}  // namespace lookback::bench
