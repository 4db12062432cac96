#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "message.hpp"
#include "overlap.hpp"

namespace lookback {
namespace {

struct Named {
  const char* name;
  const Tensor& tensor;
};

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
  require(empty || reinterpret_cast<std::uintptr_t>(a.tensor.data) %
                           static_cast<std::uintptr_t>(size_of(a.tensor.type)) ==
                       0,
          a.name, " is at an address that is no multiple of ", size_of(a.tensor.type),
          ", the size of ", name_of(a.tensor.type), "; align it");
}

/// One extent against the one it must equal.
void check_extent(const Named& a, std::size_t axis, const char* unit, const char* reference,
                  std::int64_t wanted) {
  require(a.tensor.extent[axis] == wanted, a.name, " has ", a.tensor.extent[axis], " ", unit,
          " but ", reference, " has ", wanted, "; they must be equal");
}

void check_type(const Named& a, Type wanted) {
  require(a.tensor.type == wanted, a.name, " is ", name_of(a.tensor.type), " but q is ",
          name_of(wanted), "; q, k, v, out and lse have one type");
}

void check_shapes(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out) {
  check_extent({"k", k}, 0, "sequences", "q", q.extent[0]);
  check_extent({"v", v}, 0, "sequences", "q", q.extent[0]);
  check_extent({"out", out}, 0, "sequences", "q", q.extent[0]);
  const std::int64_t H = q.extent[1], H_kv = k.extent[1];
  check_extent({"v", v}, 1, "heads", "k", H_kv);
  check_extent({"out", out}, 1, "heads", "q", H);
  require(H == 0 || H_kv > 0, "k has 0 heads but q has ", H, "; k and v need at least 1");
  require(H == 0 || H % H_kv == 0, "q has ", H, " heads, which is no multiple of the ", H_kv,
          " heads of k; each key-value head serves the same number of query heads");
  check_extent({"v", v}, 2, "positions", "k", k.extent[2]);
  check_extent({"out", out}, 2, "positions", "q", q.extent[2]);
  check_extent({"k", k}, 3, "features", "q", q.extent[3]);
  check_extent({"out", out}, 3, "features", "v", v.extent[3]);
}

void check_lse(const Tensor& lse, const Tensor& q) {
  check_extent({"lse", lse}, 0, "sequences", "q", q.extent[0]);
  check_extent({"lse", lse}, 1, "heads", "q", q.extent[1]);
  check_extent({"lse", lse}, 2, "positions", "q", q.extent[2]);
  require(lse.extent[3] == 1, "lse has ", lse.extent[3],
          " features; it holds one number per row, so 1");
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

std::int64_t resolve_offset(const Options& options, std::int64_t n_q, std::int64_t n_k) {
  require(!options.causal || options.position || n_q == n_k, "causal with ", n_q, " queries and ",
          n_k, " keys needs a position: give top_left, bottom_right or an offset");
  if (!options.position) return 0;
  // Beyond these ends every row sees nothing, or everything.
  return std::clamp(options.position->offset(n_q, n_k), -n_q, n_k);
}

void check_values(const Options& options) {
  const double T = options.temperature;
  require(std::isfinite(T) && T > 0, "temperature is ", T, "; it must be finite and above 0");
  require(!options.threads || *options.threads >= 1, "threads is ", options.threads.value_or(0),
          "; it must be at least 1");
}

}  // namespace

Problem check(const Tensor& q, const Tensor& k, const Tensor& v, const Outputs& outputs,
              const Options& options) {
  const Tensor out = outputs.out;
  for (const Named& a : {Named{"q", q}, Named{"k", k}, Named{"v", v}, Named{"out", out}}) {
    check_array(a);
    check_type(a, q.type);
  }
  check_shapes(q, k, v, out);
  check_output_memory({"out", out}, {{"q", q}, {"k", k}, {"v", v}});
  if (outputs.lse) {
    const Tensor lse = *outputs.lse;
    check_array({"lse", lse});
    check_type({"lse", lse}, q.type);
    check_lse(lse, q);
    check_output_memory({"lse", lse}, {{"q", q}, {"k", k}, {"v", v}, {"out", out}});
  }
  check_values(options);
  const std::int64_t n_q = q.extent[2], n_k = k.extent[2], d = q.extent[3];
  return {q,
          k,
          v,
          outputs.out,
          outputs.lse,
          q.extent[0],
          q.extent[1],
          k.extent[1],
          n_q,
          n_k,
          d,
          v.extent[3],
          resolve_scale(options, d, q.type),
          options.temperature,
          options.causal,
          resolve_offset(options, n_q, n_k)};
}

}  // namespace lookback
