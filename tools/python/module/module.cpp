// The module lookback._engine: names, signatures and documentation.
#include <nanobind/nanobind.h>

#include <thread>

#include "array.hpp"
#include "bindings.hpp"
#include "docs.hpp"
#include "engine.hpp"
#include "lookback/target.hpp"

namespace lookback::python {
namespace {

nb::list list_targets() {
  nb::list list;
  for (const Target& target : targets()) {
    list.append(
        nb::make_tuple(target.name, target.supported, target.same_bits, target.float32_lanes));
  }
  return list;
}

nb::dict describe() {
  const BlockSizes sizes = block_sizes();
  nb::dict facts;
  facts["version"] = version();
  facts["target"] = active_target();
  facts["hardware_threads"] = std::thread::hardware_concurrency();
  facts["key_block"] = sizes.key_block;
  facts["chunk"] = sizes.chunk;
  return facts;
}

}  // namespace
}  // namespace lookback::python

NB_MODULE(_engine, module) {
  using namespace lookback::python;
  namespace nb = nanobind;
  register_errors(module);
  load_numpy();
  module.attr("__version__") = lookback::version();
  module.def("attend", &attend, nb::arg("q").none(), nb::arg("k").none(), nb::arg("v").none(),
             nb::arg("options"), nb::sig(kAttendSignature), kAttendDoc);
  module.def("align", &align, nb::arg("q").none(), nb::arg("k").none(), nb::arg("options"),
             nb::sig(kAlignSignature), kAlignDoc);
  module.def("merge", &merge, nb::arg("outs"), nb::arg("lses"), nb::kw_only(),
             nb::arg("layout") = "bhnd", nb::sig(kMergeSignature), kMergeDoc);
  module.def("_targets", &list_targets);
  module.def("info", &describe, nb::sig("def info() -> dict[str, object]"), kInfoDoc);
  module.def(
      "set_target", [](const std::string& name) { lookback::set_target(name); }, nb::arg("name"),
      nb::sig("def set_target(name: str) -> None"), kSetTargetDoc);
}
