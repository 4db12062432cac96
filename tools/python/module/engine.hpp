// Errors on their way to Python, and calls that let other Python threads run.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <sstream>
#include <string>

#include "lookback/error.hpp"

namespace lookback::python {

namespace nb = nanobind;

template <class... Pieces>
std::string sentence(const Pieces&... pieces) {
  std::ostringstream text;
  text.precision(17);
  (text << ... << pieces);
  return text.str();
}

template <class... Pieces>
[[noreturn]] void throw_type_error(const Pieces&... pieces) {
  throw nb::type_error(sentence(pieces...).c_str());
}

template <class... Pieces>
[[noreturn]] void throw_value_error(const Pieces&... pieces) {
  throw nb::value_error(sentence(pieces...).c_str());
}

/// Turns Error into ValueError, MemoryError and lookback.Cancelled.
void register_errors(nb::module_& module);

}  // namespace lookback::python
