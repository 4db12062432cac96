#include "numbers.hpp"

#include <cstring>
#include <string_view>

#include "engine.hpp"

namespace lookback::python {
namespace {

template <class T>
constexpr bool kIsInt = std::is_same_v<T, std::int64_t>;

/// The element at `from`, of storage type Stored.
template <class Stored, class T>
T load(const char* from) {
  Stored stored;
  std::memcpy(&stored, from, sizeof(stored));
  return static_cast<T>(stored);
}

template <class T>
using Loader = T (*)(const char*);

/// How to read elements of this type as T, or null.
template <class T>
Loader<T> loader_of(dlpack::DataType type) {
  if (type.code == dlpack::kInt) {
    if (type.bits == 8) return load<std::int8_t, T>;
    if (type.bits == 16) return load<std::int16_t, T>;
    if (type.bits == 32) return load<std::int32_t, T>;
    if (type.bits == 64) return load<std::int64_t, T>;
  }
  if (type.code == dlpack::kUInt) {
    if (type.bits == 8) return load<std::uint8_t, T>;
    if (type.bits == 16) return load<std::uint16_t, T>;
    if (type.bits == 32) return load<std::uint32_t, T>;
    if (type.bits == 64) return load<std::uint64_t, T>;
  }
  if constexpr (!kIsInt<T>) {
    if (type.code == dlpack::kFloat && type.bits == 32) return load<float, T>;
    if (type.code == dlpack::kFloat && type.bits == 64) return load<double, T>;
  }
  return nullptr;
}

/// Lists and the like become NumPy's arrays, and types without a loader become the nearest that has
/// one.
template <class T>
nb::object as_array(nb::handle object, const char* name) {
  const bool is_list = nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object) ||
                       PyRange_Check(object.ptr());
  if (!is_list) return nb::borrow(object);
  const nb::object array = nb::module_::import_("numpy").attr("asarray")(object);
  if (nb::cast<std::size_t>(array.attr("size")) == 0) return array.attr("astype")("int64");
  const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  if (kind == "O" || kind == "U" || kind == "S") {
    throw_type_error(name, " is no list of ", kIsInt<T> ? "integers" : "numbers");
  }
  return array;
}

/// 16-bit numbers, by the frameworks' own conversion.
nb::object widened(const nb::object& object) {
  if (is_torch(object)) return object.attr("float")();
  return object.attr("astype")("float32");
}

bool is_narrow(const Array& array) {
  return array.dtype().bits == 16 &&
         (array.dtype().code == dlpack::kFloat || array.dtype().code == dlpack::kBfloat);
}

/// An array of one axis would pass for an index if it holds one number.
bool has_axes(nb::handle object) {
  const nb::object rank = nb::getattr(object, "ndim", nb::none());
  return !rank.is_none() && nb::cast<int>(rank) != 0;
}

}  // namespace

bool is_one_bool(nb::handle object) {
  if (PyBool_Check(object.ptr())) return true;
  if (PyLong_Check(object.ptr()) || has_axes(object)) return false;
  // "bool" of NumPy, "torch.bool" of PyTorch
  const nb::object dtype = nb::getattr(object, "dtype", nb::none());
  return !dtype.is_none() && std::string_view(nb::str(dtype).c_str()).ends_with("bool");
}

bool is_one_int(nb::handle object) {
  if (PyLong_Check(object.ptr())) return !PyBool_Check(object.ptr());
  return PyIndex_Check(object.ptr()) != 0 && !has_axes(object) && !is_one_bool(object);
}

double to_double(nb::handle object, const char* name) {
  const double value = PyFloat_AsDouble(object.ptr());
  if (value == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    throw_type_error(name, " is a ", type_name_of(object), "; it must be a number");
  }
  return value;
}

std::int64_t to_int(nb::handle object, const char* name) {
  const nb::object index = nb::steal(PyNumber_Index(object.ptr()));
  if (!index.is_valid()) {
    PyErr_Clear();
    throw_type_error(name, " is a ", type_name_of(object), "; it must be an integer");
  }
  const long long value = PyLong_AsLongLong(index.ptr());
  if (value == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    throw_value_error(name, " is ", nb::cast<std::string>(nb::str(index)),
                      ", beyond the range of 64 bits");
  }
  return value;
}

template <class T>
Numbers<T>::Numbers(nb::handle object, const char* name) : object_(as_array<T>(object, name)) {
  array_.emplace(object_, name);
  if (!kIsInt<T> && is_narrow(*array_)) {
    object_ = widened(object_);
    array_.emplace(object_, name);
  }
  const Array& array = *array_;
  const Loader<T> load_at = loader_of<T>(array.dtype());
  if (!load_at) {
    throw_type_error(name, " is ", array.type_name(), "; it must hold ",
                     kIsInt<T> ? "integers" : "real numbers");
  }
  if (array.rank() < 1 || array.rank() > 2) {
    throw_value_error(name, " has ", array.rank(), " axes; it must have 1 or 2");
  }
  const bool is_wanted =
      array.dtype().code == (kIsInt<T> ? dlpack::kInt : dlpack::kFloat) && array.dtype().bits == 64;
  const auto size = static_cast<std::size_t>(array.size());
  const char* data = static_cast<const char*>(array.data());
  if (is_wanted && array.is_contiguous() &&
      reinterpret_cast<std::uintptr_t>(data) % sizeof(T) == 0) {
    values_ = {static_cast<const T*>(array.data()), size};
    return;
  }
  copy_.reserve(size);
  const std::int64_t bytes = array.dtype().bits / 8;
  const bool has_rows = array.rank() == 2;
  const std::int64_t rows = has_rows ? array.extent(0) : 1;
  const std::size_t last = array.rank() - 1;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < array.extent(last); ++i) {
      const std::int64_t at = (has_rows ? r * array.stride(0) : 0) + i * array.stride(last);
      copy_.push_back(load_at(data + at * bytes));
    }
  }
  values_ = copy_;
}

template class Numbers<std::int64_t>;
template class Numbers<double>;

}  // namespace lookback::python
