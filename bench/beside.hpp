// A problem measured beside the limits that can bound it.
#pragma once

#include "problem.hpp"
#include "turns.hpp"

namespace lookback::bench {

/// The place of each limit among those of turns_beside_roofs.
enum RoofIndex : std::size_t { register_fma, l1_fma, memory_read };

/// FMA peaks from registers and from L1 and, for a decode, reading the same K and V, all on the
/// problem's number of threads.
Turns turns_beside_roofs(const Problem& problem);

}  // namespace lookback::bench
