// The functions of the module; module.cpp gives them their signatures and documentation.
#pragma once

#include <nanobind/nanobind.h>

namespace lookback::python {

namespace nb = nanobind;

nb::object attend(nb::handle q, nb::handle k, nb::handle v, const nb::kwargs& kwargs);
nb::object align(nb::handle q, nb::handle k, const nb::kwargs& kwargs);
nb::object merge(const nb::sequence& outs, const nb::sequence& lses, nb::handle layout);

}  // namespace lookback::python
