#include "lookback/align.hpp"

#include <cstring>
#include <deque>
#include <string_view>

#include "bindings.hpp"
#include "engine.hpp"
#include "options.hpp"
#include "results.hpp"

namespace lookback::python {
namespace {

/// The keywords of the views; invalid handles are those that were left out, None or untrue
/// switches.
struct ViewKeywords {
  nb::handle rows, stage, top, summary, received, last, pooled, region, distances, heads;

  bool set(const char* name, nb::handle value) {
    const std::pair<const char*, nb::handle*> places[] = {
        {"rows", &rows},           {"stage", &stage}, {"top", &top},       {"summary", &summary},
        {"received", &received},   {"last", &last},   {"pooled", &pooled}, {"region", &region},
        {"distances", &distances}, {"heads", &heads},
    };
    for (const auto& [known, place] : places) {
      if (std::strcmp(known, name) != 0) continue;
      const bool is_switch = place == &summary || place == &received;
      if (!value.is_none() && !(is_switch && PyObject_IsTrue(value.ptr()) == 0)) *place = value;
      return true;
    }
    return false;
  }
};

/// One of several words, by its place among them.
template <std::size_t n>
std::size_t word(nb::handle given, const char* name, const char* const (&words)[n],
                 const char* choice) {
  if (!given.is_valid()) return n;
  if (nb::isinstance<nb::str>(given)) {
    const char* text = nb::borrow<nb::str>(given).c_str();
    for (std::size_t i = 0; i < n; ++i) {
      if (std::strcmp(words[i], text) == 0) return i;
    }
    throw_value_error(name, " is '", text, "'; it must be ", choice);
  }
  throw_type_error(name, " is a ", type_name_of(given), "; it must be ", choice);
}

/// A tuple or list of as many numbers as given, the last of which may be a word.
nb::object item(nb::handle sequence, std::size_t i) {
  return nb::object(sequence[i]);
}
std::size_t length_of(nb::handle given) {
  const bool is_sequence = nb::isinstance<nb::tuple>(given) || nb::isinstance<nb::list>(given);
  return is_sequence ? nb::len(given) : 0;
}

/// What is asked for, and the arrays that will hold it.
class Asked {
 public:
  Asked(const ViewKeywords& keywords, const Array& q, const Tensor& q_view, const Tensor& k_view)
      : q_(q), type_(statistics_type(q_view.type)), extent_(q_view.extent), n_k_(k_view.extent[2]) {
    constexpr const char* reductions[] = {"each", "mean", "max"};
    const std::size_t heads = word(keywords.heads, "heads", reductions, "'each', 'mean' or 'max'");
    if (heads < std::size(reductions)) views_.heads = static_cast<Heads>(heads);
    if (views_.heads != Heads::each) extent_[1] = 1;
    set_rows(keywords);
    if (keywords.top.is_valid()) set_top(keywords.top);
    if (keywords.summary.is_valid()) set_summary(q_view);
    if (keywords.received.is_valid()) set_received();
    if (keywords.last.is_valid()) set_last(keywords);
    if (keywords.pooled.is_valid()) set_pooled(keywords.pooled);
    if (keywords.region.is_valid()) set_region(keywords);
    if (keywords.distances.is_valid()) set_distances(keywords.distances);
  }

  const Views& views() const { return views_; }

  nb::dict results() const {
    nb::dict results;
    for (const auto& [name, object] : results_) results[name] = object;
    return results;
  }

 private:
  OutputTensor add(const char* name, const Extents& extent, Type type, bool keeps_last_axis) {
    const Result result(q_, extent, type, keeps_last_axis);
    results_.emplace_back(name, result.object());
    return result.view();
  }
  OutputTensor add(const char* name, std::int64_t positions, std::int64_t features) {
    return add(name, {extent_[0], extent_[1], positions, features}, type_, true);
  }
  OutputTensor add_numbers(const char* name, std::int64_t positions) {
    return add(name, {extent_[0], extent_[1], positions, 1}, type_, false);
  }

  void set_rows(const ViewKeywords& keywords) {
    constexpr const char* stages[] = {"scaled", "capped", "final", "weights"};
    constexpr const char* choice = "'scaled', 'capped', 'final' or 'weights'";
    const std::size_t word_of_stage = word(keywords.stage, "stage", stages, choice);
    const Stage stage =
        word_of_stage < std::size(stages) ? static_cast<Stage>(word_of_stage) : Stage::weights;
    if (!keywords.rows.is_valid()) {
      if (stage != Stage::weights) throw_value_error("stage is given without rows; give both");
      return;
    }
    nb::object rows = nb::borrow(keywords.rows);
    if (is_one_int(rows)) rows = nb::make_tuple(rows);
    const auto chosen = rows_.emplace(rows, "rows").values();
    views_.rows =
        RowsView{chosen, stage, add("rows", static_cast<std::int64_t>(chosen.size()), n_k_)};
  }

  void set_top(nb::handle given) {
    const std::int64_t k = to_int(given, "top");
    if (k < 1 || k > 64) throw_value_error("top is ", k, "; it must be from 1 to 64");
    views_.top = {add("top_index", {extent_[0], extent_[1], extent_[2], k}, Type::int64, true),
                  add("top_weight", extent_[2], k)};
  }

  void set_summary(const Tensor& q_view) {
    views_.summary = {add_numbers("entropy", extent_[2]), add_numbers("largest", extent_[2]),
                      add_numbers("position", extent_[2]), add_numbers("distance", extent_[2])};
    const Extents per_head{extent_[0], q_view.extent[1], extent_[2], 1};
    views_.lse = add("lse", per_head, type_, false);
  }

  void set_received() {
    views_.received = {add_numbers("received_sum", n_k_), add_numbers("received_max", n_k_), {}};
  }

  void set_last(const ViewKeywords& keywords) {
    if (!views_.received) throw_value_error("last is given without received; give both");
    views_.received->last = to_int(keywords.last, "last");
  }

  /// (rows, columns), or with "mean" or "max" as a third.
  void set_pooled(nb::handle given) {
    constexpr const char* poolings[] = {"mean", "max"};
    const std::size_t n = length_of(given);
    if (n != 2 && n != 3) {
      throw_type_error("pooled must be (rows, columns) or (rows, columns, 'max')");
    }
    const std::int64_t rows = to_int(item(given, 0), "pooled.rows");
    const std::int64_t columns = to_int(item(given, 1), "pooled.columns");
    if (rows < 0 || columns < 0) {
      throw_value_error("pooled is (", rows, ", ", columns, "); sizes are at least 0");
    }
    PooledView view{add("pooled", rows, columns), Pooling::mean, {}};
    if (n == 3) {
      const nb::object pooling = item(given, 2);
      view.pooling =
          static_cast<Pooling>(word(pooling, "pooled's third", poolings, "'mean' or 'max'"));
    }
    views_.pooled = view;
  }

  /// ((first row, end row), (first key, end key)).
  void set_region(const ViewKeywords& keywords) {
    if (!views_.pooled) throw_value_error("region is given without pooled; give both");
    std::int64_t ends[4];
    for (std::size_t side = 0; side < 2; ++side) {
      const nb::object pair =
          length_of(keywords.region) == 2 ? item(keywords.region, side) : nb::none();
      if (length_of(pair) != 2) {
        throw_type_error("region must be ((first row, end row), (first key, end key))");
      }
      for (std::size_t i = 0; i < 2; ++i) ends[2 * side + i] = to_int(item(pair, i), "region");
    }
    views_.pooled->region = {ends[0], ends[1], ends[2], ends[3]};
  }

  /// How many, or (how many, "signed").
  void set_distances(nb::handle given) {
    constexpr const char* signs[] = {"signed"};
    DistanceView view;
    nb::object count = nb::borrow(given);
    if (length_of(given) == 2) {
      count = item(given, 0);
      const nb::object sign = item(given, 1);
      word(sign, "distances' second", signs, "'signed'");
      view.is_signed = true;
    }
    const std::int64_t distances = to_int(count, "distances");
    if (distances < 1) throw_value_error("distances is ", distances, "; it must be at least 1");
    view.mass = add_numbers("mass", distances);
    views_.distances = view;
  }

  const Array& q_;
  Type type_;
  Extents extent_;  // of q, with the heads that the views have
  std::int64_t n_k_;
  std::optional<Ints> rows_;
  Views views_;
  std::deque<std::pair<const char*, nb::object>> results_;
};

/// Where row 0 of each sequence stands, or None if nothing says so.
nb::object offsets_of(const Options& options, const Tensor& q, const Tensor& k) {
  const std::int64_t n_q = q.extent[2], n_k = k.extent[2];
  if (options.q_bounds || (!options.position && n_q != n_k)) return nb::none();
  nb::list offsets;
  for (std::int64_t s = 0; s < q.extent[0]; ++s) {
    const std::int64_t keys =
        options.lengths ? (*options.lengths)[static_cast<std::size_t>(s)] : n_k;
    offsets.append(options.position ? options.position->offset(s, n_q, keys) : 0);
  }
  return offsets;
}

/// The call, for a page of all its weights.
nb::object describe(const Array& q, const Array& k, const Tensor& q_view, const Tensor& k_view,
                    const Options& options, const nb::kwargs& kwargs) {
  nb::dict others;
  ViewKeywords views;
  for (const auto& [key, value] : kwargs) {
    const std::string_view name = nb::borrow<nb::str>(key).c_str();
    if (name == "causal" || name == "position" || name == "progress") continue;
    if (!views.set(name.data(), value) && !value.is_none()) others[key] = value;
  }
  const auto [B, H, n_q, d] = q_view.extent;
  const nb::object extents = nb::make_tuple(B, H, n_q, k_view.extent[2]);
  const std::int64_t score_bytes = size_of(statistics_type(q_view.type));
  const nb::object call = nb::module_::import_("lookback._page").attr("Call");
  return call(q.object(), k.object(), extents, score_bytes, options.causal,
              offsets_of(options, q_view, k_view), others);
}

}  // namespace

nb::object align(nb::handle q_given, nb::handle k_given, const nb::kwargs& kwargs) {
  ViewKeywords wanted;
  const Keywords keywords =
      take_keywords("align", kwargs, [&](const char* n, nb::handle v) { return wanted.set(n, v); });
  const Layout layout = layout_of(keywords);
  const Array q(q_given, "q"), k(k_given, "k");
  const Tensor q_view = q.tensor(layout), k_view = k.tensor(layout);
  if (k.rank() != q.rank()) {
    throw_value_error("k has ", k.rank(), " axes but q has ", q.rank(), "; they must be equal");
  }
  const CallOptions options(keywords, q_view, k_view);
  const Asked asked(wanted, q, q_view, k_view);
  {
    const nb::gil_scoped_release others_may_run;
    align(q_view, k_view, asked.views(), options.options());
  }
  const nb::object alignment = nb::module_::import_("lookback._alignment").attr("Alignment");
  return alignment(asked.results(), describe(q, k, q_view, k_view, options.options(), kwargs));
}

}  // namespace lookback::python
