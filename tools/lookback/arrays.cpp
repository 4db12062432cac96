#include "arrays.hpp"

#include <algorithm>
#include <filesystem>

#include "failure.hpp"
#include "output_file.hpp"
#include "text.hpp"

namespace lookback::cli {
namespace {

namespace fs = std::filesystem;

// Axes that a smaller rank lacks are in front and have extent 1.
Tensor tensor_of(const NpyArray& array) {
  Tensor tensor = {array.data, array.type, {1, 1, 1, 1}, {0, 0, 0, 0}};
  const std::size_t missing = tensor.extent.size() - array.shape.size();
  for (std::size_t axis = 0; axis < array.shape.size(); ++axis) {
    tensor.extent[missing + axis] = array.shape[axis];
    tensor.stride[missing + axis] = array.stride[axis];
  }
  return tensor;
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  if (fs::equivalent(a, b, ignored)) return true;
  // Two names of a file that does not exist yet.
  const fs::path canonical_a = fs::weakly_canonical(fs::absolute(a, ignored), ignored);
  const fs::path canonical_b = fs::weakly_canonical(fs::absolute(b, ignored), ignored);
  return !canonical_a.empty() && canonical_a == canonical_b;
}

void check_not_an_input(const std::string& option, const std::string& path,
                        const std::vector<std::string>& inputs) {
  const auto is_path = [&](const std::string& input) { return same_file(path, input); };
  if (std::any_of(inputs.begin(), inputs.end(), is_path)) {
    throw bad_usage(option + " names the file " + path + ", which is also an input");
  }
}

NpyArray read_ranked(const std::string& path) {
  NpyArray array = read_npy(path);
  const std::size_t rank = array.shape.size();
  if (rank < 2 || rank > 4) {
    throw bad_usage(path + " has the shape " + shape_text(array.shape) +
                    "; (n, d), (heads, n, d) or (batch, heads, n, d) is needed");
  }
  return array;
}

void check_same_rank(const NpyArray& q, const NpyArray& other) {
  if (q.shape.size() == other.shape.size()) return;
  throw bad_usage(other.name + " has the shape " + shape_text(other.shape) + " but " + q.name +
                  " has " + shape_text(q.shape) + "; all must have one rank");
}

}  // namespace

Tensor Inputs::q_tensor() const {
  return tensor_of(q);
}
Tensor Inputs::k_tensor() const {
  return tensor_of(k);
}
Tensor Inputs::v_tensor() const {
  return tensor_of(v);
}

Outputs Results::outputs() const {
  const auto [B, H, n, d_v] = extent;
  const OutputTensor out_tensor = {out.data(), type, extent, {H * n * d_v, n * d_v, d_v, 1}};
  if (!lse) return {out_tensor};
  return {out_tensor, OutputTensor{lse->data(), type, {B, H, n, 1}, {H * n, n, 1, 1}}};
}

void check_paths(const std::vector<std::string>& inputs, const std::string& out,
                 const std::optional<std::string>& lse) {
  check_writable(out);
  check_not_an_input("--out", out, inputs);
  if (!lse) return;
  check_writable(*lse);
  check_not_an_input("--lse", *lse, inputs);
  if (same_file(out, *lse)) throw bad_usage("--out and --lse name the same file, " + out);
}

Inputs read_inputs(const std::string& q, const std::string& k, const std::string& v) {
  Inputs inputs = {read_ranked(q), read_ranked(k), read_ranked(v)};
  check_same_rank(inputs.q, inputs.k);
  check_same_rank(inputs.q, inputs.v);
  return inputs;
}

Results make_results(const Inputs& inputs, bool with_lse) {
  Results results;
  results.type = inputs.q.type;
  results.lse_shape = inputs.q.shape;
  results.lse_shape.pop_back();
  results.out_shape = results.lse_shape;
  results.out_shape.push_back(inputs.v.shape.back());
  results.extent = inputs.q_tensor().extent;
  results.extent[3] = inputs.v.shape.back();

  check_fits_in_memory(results.out_shape, results.type, "the result");
  const auto bytes = [&](const std::vector<std::int64_t>& shape) {
    return static_cast<std::size_t>(elements_of(shape) * size_of(results.type));
  };
  results.out = Buffer(bytes(results.out_shape));
  if (with_lse) results.lse = Buffer(bytes(results.lse_shape));
  return results;
}

void write_results(const Results& results, const std::string& out,
                   const std::optional<std::string>& lse) {
  OutputFile out_file(out);
  write_npy(out_file, results.type, results.out_shape, results.out.data());
  out_file.close();
  if (lse) {
    OutputFile lse_file(*lse);
    write_npy(lse_file, results.type, results.lse_shape, results.lse->data());
    lse_file.close();
    lse_file.commit();
  }
  out_file.commit();
}

}  // namespace lookback::cli
