#include "lookback/merge.hpp"

#include <deque>

#include "bindings.hpp"
#include "engine.hpp"
#include "options.hpp"
#include "results.hpp"

namespace lookback::python {

nb::object merge(const nb::sequence& outs, const nb::sequence& lses, nb::handle layout_given) {
  Keywords keywords;
  keywords.layout = layout_given;
  const Layout layout = layout_of(keywords);
  const std::size_t count = nb::len(outs);
  if (count == 0) throw_value_error("outs is empty; give at least one part");
  if (nb::len(lses) != count) {
    throw_value_error("lses holds ", nb::len(lses), " arrays but outs ", count,
                      "; they must be equal");
  }
  std::deque<nb::object> held;
  std::deque<Array> arrays;
  std::vector<Part> parts;
  for (std::size_t i = 0; i < count; ++i) {
    const Array& out = arrays.emplace_back(held.emplace_back(outs[i]), "outs");
    const Array& lse = arrays.emplace_back(held.emplace_back(lses[i]), "lses");
    if (lse.rank() + 1 != out.rank()) {
      throw_value_error("lses[", i, "] has ", lse.rank(), " axes but outs[", i, "] has ",
                        out.rank(), "; it must have one less");
    }
    parts.push_back({out.tensor(layout), lse.per_row()});
  }
  const Array& first = arrays.front();
  const Tensor& part = parts.front().out;
  nb::object out_object = make_array(first.object(), shape_of(part.extent, first.rank(), layout));
  const Array out(out_object, "out");
  const Extents rows{part.extent[0], part.extent[1], part.extent[2], 1};
  const Result lse(first, rows, statistics_type(part.type), false);
  const Outputs outputs(out.output(layout), lse.view());
  {
    const nb::gil_scoped_release others_may_run;
    merge(parts, outputs);
  }
  return nb::make_tuple(out_object, lse.object());
}

}  // namespace lookback::python
