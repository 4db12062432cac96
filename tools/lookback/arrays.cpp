#include "arrays.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "engine_options.hpp"
#include "failure.hpp"
#include "output_file.hpp"
#include "text.hpp"

namespace lookback::cli {
namespace {

namespace fs = std::filesystem;

// [tokens, H, d] or [tokens, d] as [1, H, tokens, d].
Tensor packed_tensor_of(const NpyArray& array) {
  Tensor tensor = tensor_of(array);
  if (array.shape.size() == 3) {
    std::swap(tensor.extent[1], tensor.extent[2]);
    std::swap(tensor.stride[1], tensor.stride[2]);
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

}  // namespace

NpyArray read_ranked(const std::string& path, Elements elements, bool packed) {
  NpyArray array = read_npy(path, elements);
  const std::size_t rank = array.shape.size();
  if (rank < 2 || rank > (packed ? 3U : 4U)) {
    throw bad_usage(path + " has the shape " + shape_text(array.shape) +
                    (packed ? "; packed sequences have (tokens, d) or (tokens, heads, d)"
                            : "; (n, d), (heads, n, d) or (batch, heads, n, d) is needed"));
  }
  return array;
}

void check_same_rank(const NpyArray& q, const NpyArray& other) {
  if (q.shape.size() == other.shape.size()) return;
  throw bad_usage(other.name + " has the shape " + shape_text(other.shape) + " but " + q.name +
                  " has " + shape_text(q.shape) + "; all must have one rank");
}

Tensor Inputs::q_tensor() const {
  return packed ? packed_tensor_of(q) : tensor_of(q);
}
Tensor Inputs::k_tensor() const {
  return packed ? packed_tensor_of(k) : tensor_of(k);
}
Tensor Inputs::v_tensor() const {
  return packed ? packed_tensor_of(v) : tensor_of(v);
}

Outputs Results::outputs() const {
  const auto [B, H, n, d_v] = extent;
  const Strides heads_first = {H * n * d_v, n * d_v, d_v, 1};
  const Strides tokens_first = {0, d_v, H * d_v, 1};
  const OutputTensor out_tensor = {out.data(), type, extent, packed ? tokens_first : heads_first};
  if (!lse) return {out_tensor};
  const Strides lse_heads_first = {H * n, n, 1, 1};
  const Strides lse_tokens_first = {0, 1, H, 1};
  return {out_tensor,
          OutputTensor{
              lse->data(), lse_type, {B, H, n, 1}, packed ? lse_tokens_first : lse_heads_first}};
}

void check_paths(const std::vector<std::string>& inputs, const std::vector<NamedPath>& outputs) {
  for (auto one = outputs.begin(); one != outputs.end(); ++one) {
    check_writable(one->path);
    check_not_an_input(one->option, one->path, inputs);
    for (auto other = outputs.begin(); other != one; ++other) {
      if (!same_file(one->path, other->path)) continue;
      throw bad_usage(other->option + " and " + one->option + " name the same file, " +
                      other->path);
    }
  }
}

Inputs read_inputs(const std::vector<std::string>& paths, Elements elements, bool packed) {
  Inputs inputs = {read_ranked(paths.at(0), elements, packed),
                   read_ranked(paths.at(1), elements, packed),
                   read_ranked(paths.at(2), elements, packed), packed};
  check_same_rank(inputs.q, inputs.k);
  check_same_rank(inputs.q, inputs.v);
  return inputs;
}

Results make_results(const Inputs& inputs, std::optional<Type> type, bool with_lse) {
  Results results;
  results.type = type.value_or(inputs.q.type);
  results.lse_type = inputs.q.type == Type::float64 ? Type::float64 : Type::float32;
  results.packed = inputs.packed;
  results.lse_shape = inputs.q.shape;
  results.lse_shape.pop_back();
  results.out_shape = results.lse_shape;
  results.out_shape.push_back(inputs.v.shape.back());
  results.extent = inputs.q_tensor().extent;
  results.extent[3] = inputs.v.shape.back();

  check_fits_in_memory(results.out_shape, results.type, "the result");
  const auto buffer = [](const std::vector<std::int64_t>& shape, Type element) {
    return Buffer(static_cast<std::size_t>(elements_of(shape) * size_of(element)));
  };
  results.out = buffer(results.out_shape, results.type);
  if (with_lse) results.lse = buffer(results.lse_shape, results.lse_type);
  return results;
}

void write_results(const Results& results, const std::string& out,
                   const std::optional<std::string>& lse) {
  OutputFile out_file(out);
  write_npy(out_file, results.type, results.out_shape, results.out.data());
  out_file.close();
  if (lse) {
    OutputFile lse_file(*lse);
    write_npy(lse_file, results.lse_type, results.lse_shape, results.lse->data());
    lse_file.close();
    lse_file.commit();
  }
  out_file.commit();
}

}  // namespace lookback::cli
