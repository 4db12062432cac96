#include "options.hpp"

#include <algorithm>
#include <cstring>

#include "engine.hpp"
#include "progress.hpp"

namespace lookback::python {
namespace {

using Place = nb::handle Keywords::*;

struct NamedPlace {
  const char* name;
  Place place;
};
constexpr NamedPlace kPlaces[] = {
    {"scale", &Keywords::scale},       {"temperature", &Keywords::temperature},
    {"causal", &Keywords::causal},     {"position", &Keywords::position},
    {"window", &Keywords::window},     {"prefix", &Keywords::prefix},
    {"lengths", &Keywords::lengths},   {"documents", &Keywords::documents},
    {"blocks", &Keywords::blocks},     {"mask", &Keywords::mask},
    {"bias", &Keywords::bias},         {"softcap", &Keywords::softcap},
    {"alibi", &Keywords::alibi},       {"sinks", &Keywords::sinks},
    {"hook", &Keywords::hook},         {"layout", &Keywords::layout},
    {"q_bounds", &Keywords::q_bounds}, {"k_bounds", &Keywords::k_bounds},
    {"threads", &Keywords::threads},   {"progress", &Keywords::progress},
};

/// Where one list or array would be something else.
bool is_pair(nb::handle object) {
  return nb::isinstance<nb::tuple>(object) && nb::len(object) == 2;
}
bool is_two(nb::handle object) {
  return is_pair(object) || (nb::isinstance<nb::list>(object) && nb::len(object) == 2);
}

std::optional<std::int64_t> side(nb::handle given, const char* name) {
  if (given.is_none()) return std::nullopt;
  return to_int(given, name);
}

Window parse_window(nb::handle given) {
  if (!is_two(given)) {
    throw_type_error("window is a ", type_name_of(given),
                     "; it must be (left, right), with None for an open side");
  }
  return {side(given[0], "window.left"), side(given[1], "window.right")};
}

void require_boolean(const Array& array) {
  if (array.type() == Type::boolean) return;
  throw_type_error(array.name(), " is ", array.type_name(),
                   "; it must be boolean, true where a key is visible");
}

/// An address from an integer, or from what ctypes, cffi and Numba call a pointer.
void* address_of(nb::handle given, const char* name) {
  nb::object address = nb::borrow(given);
  if (!PyLong_Check(given.ptr())) {
    address = nb::module_::import_("lookback._pointers").attr("address")(given, name);
  }
  void* pointer = PyLong_AsVoidPtr(address.ptr());
  if (!pointer && PyErr_Occurred()) throw nb::python_error();
  return pointer;
}

ScoreHook parse_hook(nb::handle given) {
  nb::object function = nb::borrow(given), user = nb::none();
  if (is_pair(given)) {
    function = given[0];
    user = given[1];
  }
  ScoreHook hook{};
  hook.function = reinterpret_cast<lookback_score_hook>(address_of(function, "hook"));
  if (!user.is_none()) hook.user = address_of(user, "the hook's user");
  return hook;
}

}  // namespace

bool Keywords::set(const char* name, nb::handle value) {
  for (const NamedPlace& known : kPlaces) {
    if (std::strcmp(known.name, name) != 0) continue;
    if (!value.is_none()) this->*known.place = value;
    return true;
  }
  return false;
}

void refuse_keyword(const char* function, const char* name) {
  throw_type_error(function, "() got an unexpected keyword argument '", name, "'");
}

Layout layout_of(const Keywords& keywords) {
  const char* name = "bhnd";
  if (keywords.layout.is_valid()) {
    if (!nb::isinstance<nb::str>(keywords.layout)) {
      throw_type_error("layout is a ", type_name_of(keywords.layout), "; it must be a string");
    }
    name = nb::borrow<nb::str>(keywords.layout).c_str();
  }
  const bool heads_first = std::strcmp(name, "bhnd") == 0;
  if (!heads_first && std::strcmp(name, "bnhd") != 0) {
    throw_value_error("layout is '", name, "'; it must be 'bhnd' or 'bnhd'");
  }
  if (keywords.q_bounds.is_valid() || keywords.k_bounds.is_valid()) return Layout::packed;
  return heads_first ? Layout::heads_first : Layout::positions_first;
}

CallOptions::CallOptions(const Keywords& keywords, const Tensor& q, const Tensor& k)
    : q_(q), k_(k) {
  set_bounds(keywords);
  set_score_terms(keywords);
  set_visibility(keywords);
  set_position(keywords);
  if (keywords.threads.is_valid()) {
    const std::int64_t threads = to_int(keywords.threads, "threads");
    options_.threads = static_cast<int>(std::clamp<std::int64_t>(threads, INT32_MIN, INT32_MAX));
  }
  options_.progress = progress_function(keywords.progress);
}

void CallOptions::set_score_terms(const Keywords& keywords) {
  if (keywords.scale.is_valid()) options_.scale = to_double(keywords.scale, "scale");
  if (keywords.temperature.is_valid()) {
    options_.temperature = to_double(keywords.temperature, "temperature");
  }
  if (keywords.softcap.is_valid()) options_.softcap = to_double(keywords.softcap, "softcap");
  if (keywords.alibi.is_valid()) options_.alibi = per_head(alibi_, keywords.alibi, "alibi");
  if (keywords.sinks.is_valid()) options_.sinks = per_head(sinks_, keywords.sinks, "sinks");
  if (keywords.bias.is_valid()) {
    const Array& bias = bias_.emplace(keywords.bias, "bias");
    if (!bias.type() || bias.type() == Type::boolean || bias.type() == Type::int64) {
      throw_type_error("bias is ", bias.type_name(),
                       "; it must be floating-point numbers to add, a boolean array is a mask");
    }
    options_.bias = bias.broadcast();
  }
  if (keywords.hook.is_valid()) options_.hook = parse_hook(keywords.hook);
}

void CallOptions::set_visibility(const Keywords& keywords) {
  if (keywords.window.is_valid()) options_.window = parse_window(keywords.window);
  if (keywords.prefix.is_valid()) options_.prefix = to_int(keywords.prefix, "prefix");
  if (keywords.lengths.is_valid()) {
    options_.lengths = lengths_.emplace(keywords.lengths, "lengths").values();
  }
  if (keywords.documents.is_valid()) set_documents(keywords.documents);
  if (keywords.blocks.is_valid()) set_blocks(keywords.blocks);
  if (keywords.mask.is_valid()) {
    require_boolean(mask_.emplace(keywords.mask, "mask"));
    options_.mask = mask_->broadcast();
  }
}

/// One array, or a pair of (query ids, key ids).
void CallOptions::set_documents(nb::handle given) {
  nb::object queries = nb::borrow(given);
  std::optional<std::span<const std::int64_t>> keys;
  if (is_pair(given)) {
    queries = given[0];
    keys = key_ids_.emplace(nb::object(given[1]), "documents.keys").values();
  }
  const Documents documents{query_ids_.emplace(queries, "documents.queries").values(), keys};
  for (const auto* ids : {&query_ids_, &key_ids_}) {
    if (!*ids || (*ids)->rank() == 1 || (*ids)->extent(0) == q_.extent[0]) continue;
    throw_value_error((*ids)->name(), " has ", (*ids)->extent(0), " rows; give one per sequence, ",
                      q_.extent[0]);
  }
  options_.documents = documents;
}

void CallOptions::set_blocks(nb::handle given) {
  if (!is_two(given) || !is_two(nb::object(given[1]))) {
    throw_type_error("blocks is a ", type_name_of(given), "; it must be (mask, (rows, columns))");
  }
  require_boolean(blocks_.emplace(nb::object(given[0]), "blocks"));
  const nb::object sizes = given[1];
  options_.blocks = {blocks_->broadcast(), to_int(nb::object(sizes[0]), "blocks.rows"),
                     to_int(nb::object(sizes[1]), "blocks.keys")};
}

void CallOptions::set_bounds(const Keywords& keywords) {
  if (keywords.q_bounds.is_valid()) {
    options_.q_bounds = q_bounds_.emplace(keywords.q_bounds, "q_bounds").values();
  }
  if (keywords.k_bounds.is_valid()) {
    options_.k_bounds = k_bounds_.emplace(keywords.k_bounds, "k_bounds").values();
  }
}

/// [H], or [B, H]: the engine sees only how many there are.
std::span<const double> CallOptions::per_head(std::optional<Doubles>& into, nb::handle given,
                                              const char* name) {
  const Doubles& numbers = into.emplace(given, name);
  if (numbers.rank() == 2 &&
      (numbers.extent(0) != sequences() || numbers.extent(1) != q_.extent[1])) {
    throw_value_error(name, " has extents [", numbers.extent(0), ", ", numbers.extent(1),
                      "]; it must have one number per head, [", q_.extent[1],
                      "], or per sequence and head, [", sequences(), ", ", q_.extent[1], "]");
  }
  return numbers.values();
}

std::int64_t CallOptions::sequences() const {
  if (!options_.q_bounds) return q_.extent[0];
  return static_cast<std::int64_t>(options_.q_bounds->size()) - 1;
}

/// causal is True or False, or a position, which it then sets as well.
void CallOptions::set_position(const Keywords& keywords) {
  if (keywords.position.is_valid()) {
    options_.position = parse_position(keywords.position, "position", offsets_);
  }
  if (!keywords.causal.is_valid()) return;
  if (is_one_bool(keywords.causal)) {
    options_.causal = PyObject_IsTrue(keywords.causal.ptr()) == 1;
    return;
  }
  options_.causal = true;
  const Position position = parse_position(keywords.causal, "causal", causal_offsets_);
  if (options_.position) require_agreement(position, *options_.position);
  options_.position = position;
}

Position CallOptions::parse_position(nb::handle given, const char* name,
                                     std::optional<Ints>& offsets) const {
  if (nb::isinstance<nb::str>(given)) {
    const char* text = nb::borrow<nb::str>(given).c_str();
    if (std::strcmp(text, "top-left") == 0) return Position::top_left();
    if (std::strcmp(text, "bottom-right") == 0) return Position::bottom_right();
    throw_value_error(name, " is '", text,
                      "'; it must be 'top-left', 'bottom-right', an offset or one per sequence");
  }
  if (is_one_int(given)) return Position::at(to_int(given, name));
  return Position::per_sequence(offsets.emplace(given, name).values());
}

bool CallOptions::agree(const Position& a, const Position& b) const {
  const auto is_resolved = [&](const Position& p) {
    return p.anchor() != Position::Anchor::bottom_right ||
           (!options_.lengths && !options_.q_bounds);
  };
  if (!is_resolved(a) || !is_resolved(b)) return a.anchor() == b.anchor();
  for (const Position* p : {&a, &b}) {
    const auto n = static_cast<std::int64_t>(p->offsets().size());
    if (p->anchor() == Position::Anchor::per_sequence && n != sequences()) return false;
  }
  for (std::int64_t s = 0; s < sequences(); ++s) {
    if (a.offset(s, q_.extent[2], k_.extent[2]) != b.offset(s, q_.extent[2], k_.extent[2])) {
      return false;
    }
  }
  return true;
}

void CallOptions::require_agreement(const Position& a, const Position& b) const {
  if (agree(a, b)) return;
  throw_value_error("causal and position say different positions; give one, or the same twice");
}

}  // namespace lookback::python
