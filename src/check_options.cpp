#include <cmath>
#include <limits>
#include <span>

#include "check.hpp"
#include "message.hpp"

namespace lookback {
namespace {

void check_positive(const char* name, double x) {
  require(std::isfinite(x) && x > 0, name, " is ", x, "; it must be finite and above 0");
}

/// One number per head, or per sequence and head.
void check_per_head(const Problem& p, const char* name, std::span<const double> values) {
  const auto n = static_cast<std::int64_t>(values.size());
  require(n == p.H || n == p.sequences * p.H, name, " holds ", n, " numbers; give one per head, ",
          p.H, ", or one per sequence and head, ", p.sequences * p.H);
}

/// An array whose extents are 1 or these.
void check_broadcast(const Named& a, const Extents& full, const char* meaning) {
  check_array(a);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::int64_t extent = a.tensor.extent[i];
    require(extent == 1 || extent == full[i], a.name, " has extents ", text_of(a.tensor.extent),
            ", which do not broadcast to ", meaning, " = ", text_of(full));
  }
}

void check_boolean(const Named& a) {
  require(a.tensor.type == Type::boolean, a.name, " is ", name_of(a.tensor.type),
          "; it must be boolean, true where a key is visible");
}

Extents full_extents(const Problem& p) {
  return {p.q.extent[0], p.H, p.q.extent[2], p.k.extent[2]};
}

/// Anything that asks where a query row stands.
bool uses_position(const Options& o) {
  return o.causal || o.window || o.alibi;
}

void check_position(const Problem& p) {
  const Options& o = p.options;
  if (o.position && o.position->anchor() == Position::Anchor::per_sequence) {
    const auto n = static_cast<std::int64_t>(o.position->offsets().size());
    require(n == p.sequences, "position holds ", n, " offsets; give one per sequence, ",
            p.sequences);
  }
  if (!uses_position(o)) return;
  for (std::int64_t s = 0; s < p.sequences; ++s) {
    const Sequence sequence = p.sequence(s);
    const std::int64_t n_k = p.is_packed() ? sequence.n_k : p.k.extent[2];
    require(o.position || sequence.n_q == n_k,
            o.causal   ? "causal"
            : o.window ? "window"
                       : "alibi",
            " with ", sequence.n_q, " queries and ", n_k, " keys in sequence ", s,
            " needs a position: give top_left, bottom_right or an offset");
    if (!p.is_packed()) break;  // all alike
  }
}

void check_lengths(const Problem& p) {
  const auto lengths = *p.options.lengths;
  const auto n = static_cast<std::int64_t>(lengths.size());
  require(n == p.sequences, "lengths holds ", n, " numbers; give one per sequence, ", p.sequences);
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    require(lengths[s] >= 0 && lengths[s] <= p.k.extent[2], "lengths[", s, "] is ", lengths[s],
            "; it must be from 0 to the ", p.k.extent[2], " positions of k");
  }
}

void check_ids(const char* name, std::int64_t given, std::int64_t sequences, std::int64_t n) {
  require(given == n || given == sequences * n, name, " holds ", given, " ids; give ", n,
          sequences == 1 ? "" : ", or that many for every sequence");
}

void check_documents(const Problem& p) {
  const Documents& documents = *p.options.documents;
  const std::int64_t n_q = p.q.extent[2], n_k = p.k.extent[2], batch = p.q.extent[0];
  check_ids("documents.queries", static_cast<std::int64_t>(documents.queries.size()), batch, n_q);
  require(documents.keys || n_q == n_k, "documents has no ids for the keys, of which there are ",
          n_k, " for ", n_q, " queries; give them too");
  if (documents.keys) {
    check_ids("documents.keys", static_cast<std::int64_t>(documents.keys->size()), batch, n_k);
  }
}

void check_blocks(const Problem& p) {
  const Blocks& blocks = *p.options.blocks;
  require(blocks.rows >= 1, "blocks.rows is ", blocks.rows, "; it must be at least 1");
  require(blocks.keys >= 1, "blocks.keys is ", blocks.keys, "; it must be at least 1");
  check_boolean({"blocks", blocks.visible});
  const auto count = [](std::int64_t n, std::int64_t size) { return n / size + (n % size != 0); };
  Extents full = full_extents(p);
  full[2] = count(full[2], blocks.rows);
  full[3] = count(full[3], blocks.keys);
  check_broadcast({"blocks", blocks.visible}, full, "[B, H, row blocks, key blocks]");
}

/// Starts at 0, never falls, ends at the number of tokens.
void check_bounds(const char* name, std::span<const std::int64_t> bounds, const char* array,
                  std::int64_t tokens) {
  require(!bounds.empty(), name, " is empty; give one more bound than there are sequences");
  require(bounds[0] == 0, name, " starts at ", bounds[0], "; it must start at 0");
  for (std::size_t s = 1; s < bounds.size(); ++s) {
    require(bounds[s] >= bounds[s - 1], name, "[", s, "] is ", bounds[s], ", below ", name, "[",
            s - 1, "], which is ", bounds[s - 1], "; bounds never fall");
  }
  require(bounds.back() == tokens, name, " ends at ", bounds.back(), " but ", array, " has ",
          tokens, " tokens; it must end there");
}

}  // namespace

void check_score_terms(const Problem& p) {
  const Options& o = p.options;
  check_positive("temperature", o.temperature);
  if (o.softcap) check_positive("softcap", *o.softcap);
  if (o.alibi) {
    check_per_head(p, "alibi", *o.alibi);
    for (std::size_t h = 0; h < o.alibi->size(); ++h) {
      const double slope = (*o.alibi)[h];
      require(std::isfinite(slope), "alibi[", h, "] is ", slope, "; slopes are finite");
      require(p.q.type == Type::float64 || std::abs(slope) <= std::numeric_limits<float>::max(),
              "alibi[", h, "] is ", slope, ", beyond the range of float32; use a smaller slope");
    }
  }
  if (o.sinks) {
    check_per_head(p, "sinks", *o.sinks);
    for (std::size_t h = 0; h < o.sinks->size(); ++h) {
      const double sink = (*o.sinks)[h];
      require(!std::isnan(sink) && !(sink > 0 && std::isinf(sink)), "sinks[", h, "] is ", sink,
              "; a sink is finite, or -inf for none");
      require(p.q.type == Type::float64 || std::isinf(sink) ||
                  std::abs(sink) <= std::numeric_limits<float>::max(),
              "sinks[", h, "] is ", sink, ", beyond the range of float32; use a smaller sink");
    }
  }
  if (o.bias) {
    require(is_floating_point(o.bias->type), "bias is ", name_of(o.bias->type),
            "; it must be floating-point numbers to add (a boolean array is a mask)");
    require(o.bias->type != Type::float64 || p.q.type == Type::float64, "bias is float64 but q is ",
            name_of(p.q.type), "; use a float32 bias");
    check_broadcast({"bias", *o.bias}, full_extents(p), "[B, H, n_q, n_k]");
  }
  require(!o.hook || o.hook->function, "hook has a null function; leave the hook out instead");
}

void check_visibility(const Problem& p) {
  const Options& o = p.options;
  if (o.lengths) check_lengths(p);
  check_position(p);
  if (o.window) {
    require(o.window->left.value_or(0) >= 0, "window.left is ", o.window->left.value_or(0),
            "; it must be at least 0");
    require(o.window->right.value_or(0) >= 0, "window.right is ", o.window->right.value_or(0),
            "; it must be at least 0");
  }
  require(o.prefix.value_or(0) >= 0, "prefix is ", o.prefix.value_or(0), "; it must be at least 0");
  if (o.documents) check_documents(p);
  if (o.blocks) check_blocks(p);
  if (o.mask) {
    check_boolean({"mask", *o.mask});
    check_broadcast({"mask", *o.mask}, full_extents(p), "[B, H, n_q, n_k]");
  }
}

void check_packed(const Problem& p) {
  const Options& o = p.options;
  require(o.q_bounds.has_value(), "k_bounds is given without q_bounds; give both");
  require(p.q.extent[0] == 1, "q has ", p.q.extent[0],
          " sequences along its batch axis; with q_bounds it has 1, of all tokens");
  check_bounds("q_bounds", *o.q_bounds, "q", p.q.extent[2]);
  if (o.k_bounds) {
    check_bounds("k_bounds", *o.k_bounds, "k", p.k.extent[2]);
    require(o.k_bounds->size() == o.q_bounds->size(), "k_bounds holds ", o.k_bounds->size(),
            " bounds but q_bounds ", o.q_bounds->size(), "; they describe the same sequences");
  } else {
    check_bounds("q_bounds", *o.q_bounds, "k", p.k.extent[2]);
  }
  const char* meaningless = o.lengths  ? "lengths"
                            : o.blocks ? "blocks"
                            : o.mask   ? "mask"
                            : o.bias   ? "bias"
                                       : nullptr;
  require(!meaningless, meaningless ? meaningless : "",
          " has no meaning with q_bounds, whose sequences differ in length; leave it out");
}

}  // namespace lookback
