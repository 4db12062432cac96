#include "progress.hpp"

#include "engine.hpp"
#include "numbers.hpp"

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
    if (!user.is_valid()) return true;
    const nb::object answer = user(done);
    return !is_one_bool(answer) || PyObject_IsTrue(answer.ptr()) == 1;
  };
}

}  // namespace lookback::python
