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
  bool packed = false;  // (tokens, d) or (tokens, H, d), rather than heads in front

  Tensor q_tensor() const;
  Tensor k_tensor() const;
  Tensor v_tensor() const;
};

struct Results {
  Type type = Type::float32;            // out's
  Type lse_type = Type::float32;        // what it was computed in
  std::vector<std::int64_t> out_shape;  // q's, with d_v features
  std::vector<std::int64_t> lse_shape;  // q's, without features
  Extents extent{};                     // out's, of rank 4
  bool packed = false;
  Buffer out;
  std::optional<Buffer> lse;

  Outputs outputs() const;
};

/// A file that an option names.
struct NamedPath {
  std::string option, path;
};

/// Throws Failure if a result could not be written, or would overwrite an input or another one.
void check_paths(const std::vector<std::string>& inputs, const std::vector<NamedPath>& outputs);

/// Throws Failure unless the file can be read and has rank 2, 3 or 4; packed 2 or 3.
NpyArray read_ranked(const std::string& path, Elements elements, bool packed = false);
void check_same_rank(const NpyArray& q, const NpyArray& other);

/// Throws Failure unless all three can be read and have one rank.
Inputs read_inputs(const std::vector<std::string>& paths, Elements elements, bool packed);

/// type is out's, if another than q's.
Results make_results(const Inputs& inputs, std::optional<Type> type, bool with_lse);

/// Both files or neither.
void write_results(const Results& results, const std::string& out,
                   const std::optional<std::string>& lse);

}  // namespace lookback::cli
