#include "check.hpp"

#include <cmath>
#include <limits>

#include "message.hpp"
#include "overlap.hpp"

namespace lookback {
namespace {

void check_shapes(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out) {
  const Named named_q{"q", q}, named_k{"k", k}, named_v{"v", v}, named_out{"out", out};
  check_extent(named_k, 0, "sequences", named_q, q.extent[0]);
  check_extent(named_v, 0, "sequences", named_q, q.extent[0]);
  check_extent(named_out, 0, "sequences", named_q, q.extent[0]);
  const std::int64_t H = q.extent[1], H_kv = k.extent[1];
  check_extent(named_v, 1, "heads", named_k, H_kv);
  check_extent(named_out, 1, "heads", named_q, H);
  require(H == 0 || H_kv > 0, "k has 0 heads but q has ", H, "; k and v need at least 1");
  require(H == 0 || H % H_kv == 0, "q has ", H, " heads, which is no multiple of the ", H_kv,
          " heads of k; each key-value head serves the same number of query heads");
  check_extent(named_v, 2, "positions", named_k, k.extent[2]);
  check_extent(named_out, 2, "positions", named_q, q.extent[2]);
  check_extent(named_k, 3, "features", named_q, q.extent[3]);
  check_extent(named_out, 3, "features", named_v, v.extent[3]);
}

double resolve_scale(const Options& options, std::int64_t d, Type type) {
  if (!options.scale) {
    require(d > 0, "q has 0 features, for which 1/sqrt(d) is no number; give a scale");
    return 1.0 / std::sqrt(static_cast<double>(d));
  }
  const double scale = *options.scale;
  require(std::isfinite(scale), "scale is ", scale, "; it must be finite");
  require(type == Type::float64 || std::abs(scale) <= std::numeric_limits<float>::max(),
          "scale is ", scale, ", beyond the range of float32; use float64 or a smaller scale");
  return scale;
}

std::int64_t longest(std::span<const std::int64_t> bounds) {
  std::int64_t most = 0;
  for (std::size_t s = 1; s < bounds.size(); ++s) most = std::max(most, bounds[s] - bounds[s - 1]);
  return most;
}

/// out and lse against everything they must not touch.
void check_memory(const Problem& p, const Tensor& out) {
  const Tensor none{nullptr, Type::float32, {0, 0, 0, 0}, {}};
  const Tensor bias = p.options.bias.value_or(none), mask = p.options.mask.value_or(none);
  const Tensor blocks = p.options.blocks ? p.options.blocks->visible : none;
  const std::initializer_list<Named> inputs = {{"q", p.q},     {"k", p.k},     {"v", p.v},
                                               {"bias", bias}, {"mask", mask}, {"blocks", blocks}};
  check_output_memory({"out", out}, inputs);
  if (!p.outputs.lse) return;
  const Tensor lse = *p.outputs.lse;
  check_output_memory({"lse", lse}, inputs);
  check_output_memory({"lse", lse}, {{"out", out}});
}

}  // namespace

void check_array(const Named& a) {
  constexpr const char* axes[] = {"batch", "head", "position", "feature"};
  const auto& extent = a.tensor.extent;
  for (std::size_t i = 0; i < 4; ++i) {
    require(extent[i] >= 0, a.name, " has a ", axes[i], " extent of ", extent[i],
            "; extents are at least 0");
  }
  require(is_addressable(a.tensor), a.name, " with extents ", text_of(extent), " and strides ",
          text_of(a.tensor.stride),
          " spans more than memory can hold; check its extents and strides");
  const bool empty = std::find(extent.begin(), extent.end(), 0) != extent.end();
  require(empty || a.tensor.data != nullptr, a.name, " is a null pointer but has extents ",
          text_of(extent), "; pass its data");
  const auto size = static_cast<std::uintptr_t>(size_of(a.tensor.type));
  require(empty || reinterpret_cast<std::uintptr_t>(a.tensor.data) % size == 0, a.name,
          " is at an address that is no multiple of ", size, ", the size of ",
          name_of(a.tensor.type), "; align it");
}

void check_float(const Named& a, Type type_of_q) {
  require(is_floating_point(a.tensor.type), a.name, " is ", name_of(a.tensor.type),
          "; it must be float32, float64, bfloat16 or float16");
  require((a.tensor.type == Type::float64) == (type_of_q == Type::float64), a.name, " is ",
          name_of(a.tensor.type), " but q is ", name_of(type_of_q),
          "; float64 goes with float64 only");
}

void check_lse(const Named& lse, Type wanted, const Named& reference) {
  check_array(lse);
  require(lse.tensor.type == wanted, lse.name, " is ", name_of(lse.tensor.type), " but ",
          reference.name, " is ", name_of(reference.tensor.type), ", for which it is ",
          name_of(wanted));
  check_extent(lse, 0, "sequences", reference, reference.tensor.extent[0]);
  check_extent(lse, 1, "heads", reference, reference.tensor.extent[1]);
  check_extent(lse, 2, "positions", reference, reference.tensor.extent[2]);
  require(lse.tensor.extent[3] == 1, lse.name, " has ", lse.tensor.extent[3],
          " features; it holds one number per row, so 1");
}

void check_extent(const Named& a, std::size_t axis, const char* unit, const Named& reference,
                  std::int64_t wanted) {
  require(a.tensor.extent[axis] == wanted, a.name, " has ", a.tensor.extent[axis], " ", unit,
          " but ", reference.name, " has ", wanted, "; they must be equal");
}

void check_output_memory(const Named& output, std::initializer_list<Named> others) {
  require(!may_overlap_itself(output.tensor), output.name, " with extents ",
          text_of(output.tensor.extent), " and strides ", text_of(output.tensor.stride),
          " overlaps itself; give every element its own place");
  for (const Named& other : others) {
    require(!may_share_memory(output.tensor, other.tensor), output.name, " at ", output.tensor.data,
            " shares memory with ", other.name, " at ", other.tensor.data,
            "; write to an array of its own");
  }
}

Problem check(const Tensor& q, const Tensor& k, const Tensor& v, const Outputs& outputs,
              const Options& options) {
  const Tensor out = outputs.out;
  for (const Named& a : {Named{"q", q}, Named{"k", k}, Named{"v", v}, Named{"out", out}}) {
    check_array(a);
    check_float(a, q.type);
  }
  check_shapes(q, k, v, out);
  if (outputs.lse) {
    const Type type = q.type == Type::float64 ? Type::float64 : Type::float32;
    const Tensor lse = *outputs.lse;
    check_lse({"lse", lse}, type, {"q", q});
  }
  Problem problem{q,
                  k,
                  v,
                  outputs,
                  options,
                  q.extent[0],
                  q.extent[1],
                  k.extent[1],
                  q.extent[3],
                  v.extent[3],
                  q.extent[2],
                  k.extent[2],
                  resolve_scale(options, q.extent[3], q.type)};
  if (problem.is_packed() || options.k_bounds) {
    check_packed(problem);
    problem.sequences = static_cast<std::int64_t>(options.q_bounds->size()) - 1;
    problem.most_q = longest(*options.q_bounds);
    problem.most_k = longest(options.k_bounds.value_or(*options.q_bounds));
  }
  check_score_terms(problem);
  check_visibility(problem);
  check_memory(problem, out);
  require(!options.threads || *options.threads >= 1, "threads is ", options.threads.value_or(0),
          "; it must be at least 1");
  return problem;
}

}  // namespace lookback
