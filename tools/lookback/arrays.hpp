// The files of `lookback attend` as tensors, and its results as files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lookback/attend.hpp"
#include "npy.hpp"

namespace lookback::cli {

struct Inputs {
  NpyArray q, k, v;

  Tensor q_tensor() const;
  Tensor k_tensor() const;
  Tensor v_tensor() const;
};

struct Results {
  Type type = Type::float32;
  std::vector<std::int64_t> out_shape;  // q's, with d_v features
  std::vector<std::int64_t> lse_shape;  // q's, without features
  Extents extent{};                     // out's, of rank 4
  Buffer out;
  std::optional<Buffer> lse;

  Outputs outputs() const;
};

/// Throws Failure if a result could not be written, or would overwrite an input or the other one.
void check_paths(const std::vector<std::string>& inputs, const std::string& out,
                 const std::optional<std::string>& lse);

/// Throws Failure unless all three can be read and have one rank: 2, 3 or 4.
Inputs read_inputs(const std::string& q, const std::string& k, const std::string& v);

Results make_results(const Inputs& inputs, bool with_lse);

/// Both files or neither.
void write_results(const Results& results, const std::string& out,
                   const std::optional<std::string>& lse);

}  // namespace lookback::cli
