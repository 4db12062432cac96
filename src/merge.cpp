#include "lookback/merge.hpp"

#include <vector>

#include "check.hpp"
#include "kernels/kernel_table.hpp"
#include "message.hpp"
#include "target_table.hpp"
#include "workers.hpp"

namespace lookback {
namespace {

void check_merge(std::span<const Part> parts, const Outputs& outputs) {
  const Tensor out = outputs.out;
  check_array({"out", out});
  check_float({"out", out}, out.type);
  const Type lse_type = out.type == Type::float64 ? Type::float64 : Type::float32;
  if (outputs.lse) check_lse({"lse", *outputs.lse}, lse_type, {"out", out});
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const std::string part = "parts[" + std::to_string(p) + "]";
    const std::string out_name = part + ".out", lse_name = part + ".lse";
    const Named part_out{out_name.c_str(), parts[p].out}, part_lse{lse_name.c_str(), parts[p].lse};
    check_array(part_out);
    require(is_floating_point(part_out.tensor.type) &&
                (part_out.tensor.type == Type::float64) == (out.type == Type::float64),
            out_name, " is ", name_of(part_out.tensor.type), " but out is ", name_of(out.type),
            "; float64 goes with float64 only");
    require(part_out.tensor.extent == out.extent, out_name, " has extents ",
            text_of(part_out.tensor.extent), " but out has ", text_of(out.extent),
            "; they must be equal");
    check_lse(part_lse, lse_type, part_out);
    check_output_memory({"out", out}, {part_out, part_lse});
    if (!outputs.lse) continue;
    const Tensor lse = *outputs.lse;
    check_output_memory({"lse", lse}, {part_out, part_lse});
  }
  check_output_memory({"out", out}, {});
  if (outputs.lse) {
    const Tensor lse = *outputs.lse;
    check_output_memory({"lse", lse}, {{"out", out}});
  }
}

template <class T>
class Merge {
 public:
  Merge(std::span<const Part> parts, const Outputs& outputs)
      : parts_(parts), outputs_(outputs), kernels_(active_kernels().of<T>()) {}

  void rows(std::int64_t b, std::int64_t h) const {
    std::vector<kernels::MergePart<T>> row(parts_.size());
    std::vector<T> weights(parts_.size());
    const OutputTensor& out = outputs_.out;
    for (std::int64_t i = 0; i < out.extent[2]; ++i) {
      for (std::size_t p = 0; p < parts_.size(); ++p) {
        const Tensor& part = parts_[p].out;
        row[p] = {at(part, b, h, i), part.type, part.stride[3],
                  *static_cast<const T*>(at(parts_[p].lse, b, h, i))};
      }
      const T lse =
          kernels_.merge_row(row.data(), static_cast<std::int64_t>(row.size()), out.extent[3],
                             at(out, b, h, i), out.type, out.stride[3], weights.data());
      if (outputs_.lse) {
        *static_cast<T*>(at(*outputs_.lse, b, h, i)) = lse;
      }
    }
  }

 private:
  template <class Array>
  static auto* at(const Array& t, std::int64_t b, std::int64_t h, std::int64_t i) {
    return element(t.data, t.type, t.stride, b, h, i);
  }

  std::span<const Part> parts_;
  const Outputs& outputs_;
  const kernels::Kernels<T>& kernels_;
};

template <class T>
void merge_in(std::span<const Part> parts, const Outputs& outputs) {
  const Merge<T> merge(parts, outputs);
  const DefaultFloatingPoint environment;
  for (std::int64_t b = 0; b < outputs.out.extent[0]; ++b) {
    for (std::int64_t h = 0; h < outputs.out.extent[1]; ++h) merge.rows(b, h);
  }
}

}  // namespace

void merge(std::span<const Part> parts, const Outputs& outputs) {
  check_merge(parts, outputs);
  outputs.out.type == Type::float64 ? merge_in<double>(parts, outputs)
                                    : merge_in<float>(parts, outputs);
}

}  // namespace lookback
