#include "progress.hpp"

#include "engine.hpp"

namespace lookback::python {

std::function<bool(double)> progress_function(nb::handle user) {
  if (user.is_valid() && !PyCallable_Check(user.ptr())) {
    throw_type_error("progress must be callable with the fraction done");
  }
  // Start and end need no look for signals: the interpreter does so itself.
  return [user](double done) {
    if (!user.is_valid() && (done <= 0 || done >= 1)) return true;
    const nb::gil_scoped_acquire interpreter;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    return !user.is_valid() || user(done).ptr() != Py_False;
  };
}

}  // namespace lookback::python
