// What `lookback attend` prints when it is done.
#pragma once

#include <chrono>

#include "arrays.hpp"
#include "lookback/attend.hpp"

namespace lookback::cli {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Shapes, time and GFLOP/s. A visible pair of query and key counts 2 (d + d_v) operations, the
/// multiplications and additions of its score and its part in the blend; hidden pairs count
/// nothing. There is no rate where pairs are hidden otherwise than causally.
void print_report(const Inputs& inputs, const Results& results, const Options& options,
                  double seconds);

}  // namespace lookback::cli
