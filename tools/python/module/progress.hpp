// Running the engine while other Python threads go on, with progress and Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>

namespace lookback::python {

namespace nb = nanobind;

/// The engine's progress function: looks for signals, and calls the user's function if there is
/// one. An exception from either ends the call and is passed on; a function that returns False
/// cancels it.
std::function<bool(double)> progress_function(nb::handle user);

}  // namespace lookback::python
