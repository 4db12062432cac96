#include "engine.hpp"

namespace lookback::python {
namespace {

nb::handle cancelled;  // the class lookback.Cancelled, which the module keeps

PyObject* class_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::cancelled:
      return cancelled.ptr();
    case ErrorCode::out_of_memory:
      return PyExc_MemoryError;
    default:
      return PyExc_ValueError;
  }
}

void translate(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    PyErr_SetString(class_of(e.code()), e.what());
  }
}

}  // namespace

void register_errors(nb::module_& module) {
  cancelled = nb::steal(PyErr_NewExceptionWithDoc(
                            "lookback.Cancelled",
                            "The progress function returned False; the call gave no result.",
                            PyExc_RuntimeError, nullptr))
                  .release();
  module.attr("Cancelled") = cancelled;
  nb::register_exception_translator(translate);
}

}  // namespace lookback::python
