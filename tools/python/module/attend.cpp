#include "lookback/attend.hpp"

#include <cstring>

#include "bindings.hpp"
#include "engine.hpp"
#include "options.hpp"
#include "results.hpp"

namespace lookback::python {
namespace {

struct Wanted {
  nb::handle out, return_lse;

  bool set(const char* name, nb::handle value) {
    nb::handle* place = std::strcmp(name, "out") == 0          ? &out
                        : std::strcmp(name, "return_lse") == 0 ? &return_lse
                                                               : nullptr;
    if (place && !value.is_none()) *place = value;
    return place != nullptr;
  }
  bool wants_lse() const { return return_lse.is_valid() && PyObject_IsTrue(return_lse.ptr()) == 1; }
};

void require_equal_ranks(const Array& q, const Array& other) {
  if (other.rank() == q.rank()) return;
  throw_value_error(other.name(), " has ", other.rank(), " axes but q has ", q.rank(),
                    "; they must be equal");
}

}  // namespace

nb::object attend(nb::handle q_given, nb::handle k_given, nb::handle v_given,
                  const nb::kwargs& kwargs) {
  Wanted wanted;
  const Keywords keywords = take_keywords(
      "attend", kwargs, [&](const char* n, nb::handle v) { return wanted.set(n, v); });
  const Layout layout = layout_of(keywords);
  const Array q(q_given, "q"), k(k_given, "k"), v(v_given, "v");
  const Tensor q_view = q.tensor(layout), k_view = k.tensor(layout), v_view = v.tensor(layout);
  require_equal_ranks(q, k);
  require_equal_ranks(q, v);
  const CallOptions options(keywords, q_view, k_view);

  const Extents extent{q_view.extent[0], q_view.extent[1], q_view.extent[2], v_view.extent[3]};
  nb::object out_object = wanted.out.is_valid()
                              ? nb::borrow(wanted.out)
                              : make_array(q_given, shape_of(extent, q.rank(), layout));
  const Array out(out_object, "out");
  require_equal_ranks(q, out);
  Outputs outputs(out.output(layout));
  std::optional<Result> lse;
  if (wanted.wants_lse()) {
    const Extents rows{extent[0], extent[1], extent[2], 1};
    outputs.lse = lse.emplace(q, rows, statistics_type(q_view.type), false).view();
  }
  {
    const nb::gil_scoped_release others_may_run;
    attend(q_view, k_view, v_view, outputs, options.options());
  }
  if (lse) return nb::make_tuple(out_object, lse->object());
  return out_object;
}

}  // namespace lookback::python
