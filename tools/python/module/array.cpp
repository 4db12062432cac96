#include "array.hpp"

#include <cstring>
#include <span>

#include "engine.hpp"

namespace lookback::python {
namespace {

/// What is used of NumPy and PyTorch. The interpreter's lock guards its members; that of a static's
/// initialisation must not be held while Python runs, which may wait for another thread.
struct Frameworks {
  nb::object numpy_empty, torch_tensor, torch;
  const dlpack::ExchangeTable* torch_table = nullptr;

  /// torch.Tensor, or null while PyTorch has not been imported.
  PyTypeObject* tensor_type() {
    if (!torch_tensor.is_valid()) find_torch();
    return reinterpret_cast<PyTypeObject*>(torch_tensor.ptr());
  }

 private:
  void find_torch();
};

/// Never freed, since the interpreter may be gone by then.
Frameworks& frameworks() {
  static auto* const frameworks = new Frameworks;
  return *frameworks;
}

/// The element type of a buffer's format, one character after an optional byte order.
dlpack::DataType dtype_of_format(const char* format, Py_ssize_t item_size) {
  const char* code = format ? format : "B";
  if (*code == '@' || *code == '=' || *code == '<') ++code;
  const auto bits = static_cast<std::uint8_t>(item_size * 8);
  if (*code == 'Z' && code[1] != '\0' && code[2] == '\0') return {dlpack::kComplex, bits, 1};
  if (*code != '\0' && code[1] == '\0') {
    if (*code == '?') return {dlpack::kBool, 8, 1};
    if (std::strchr("efd", *code)) return {dlpack::kFloat, bits, 1};
    if (std::strchr("bhilqn", *code)) return {dlpack::kInt, bits, 1};
    if (std::strchr("BHILQN", *code)) return {dlpack::kUInt, bits, 1};
  }
  return {dlpack::kInt, 0, 0};
}

/// The table of a type that has one, or null.
const dlpack::ExchangeTable* exchange_table(nb::handle type) {
  const nb::object capsule =
      nb::steal(PyObject_GetAttrString(type.ptr(), "__dlpack_c_exchange_api__"));
  const dlpack::ExchangeTable* table = nullptr;
  if (capsule.is_valid()) {
    table = static_cast<const dlpack::ExchangeTable*>(
        PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  }
  if (!table) PyErr_Clear();
  while (table && table->version.major > 1) table = table->previous;
  return table && table->tensor_from_object ? table : nullptr;
}

void Frameworks::find_torch() {
  const nb::object loaded = nb::steal(PyImport_GetModule(nb::str("torch").ptr()));
  if (!loaded.is_valid() || !nb::hasattr(loaded, "Tensor")) {  // yet
    PyErr_Clear();
    return;
  }
  torch = loaded;
  torch_tensor = loaded.attr("Tensor");
  torch_table = exchange_table(torch_tensor);
}

/// What a tensor of PyTorch is besides its memory would be lost without a word.
void require_plain_numbers(nb::handle tensor, const char* name) {
  if (nb::object(tensor.attr("is_neg")()).ptr() == Py_True) {
    throw_value_error(name, " is a negative view of other memory; pass ", name, ".resolve_neg()");
  }
  if (nb::object(tensor.attr("requires_grad")).ptr() == Py_True &&
      nb::cast<bool>(frameworks().torch.attr("is_grad_enabled")())) {
    throw_type_error(name, " requires grad, which lookback does not compute; pass ", name,
                     ".detach() or call under torch.no_grad()");
  }
}

}  // namespace

Array::Array(nb::handle object, const char* name) : object_(object), name_(name) {
  if (PyObject_CheckBuffer(object.ptr()) && (read_buffer() || read_bfloat16_of_numpy())) return;
  if (read_exchange_table()) return;
  read_capsule();
}

Array::~Array() {
  if (buffer_) PyBuffer_Release(&*buffer_);
}

bool Array::read_buffer() {
  Py_buffer& buffer = buffer_.emplace();
  const nb::handle source = keeper_.is_valid() ? nb::handle(keeper_) : object_;
  if (PyObject_GetBuffer(source.ptr(), &buffer, PyBUF_RECORDS_RO) != 0) {
    PyErr_Clear();
    buffer_.reset();
    return false;
  }
  data_ = buffer.buf;
  read_only_ = buffer.readonly != 0;
  dtype_ = dtype_of_format(buffer.format, buffer.itemsize);
  if (dtype_.bits == 0) {
    throw_type_error(name_, " has elements of format '", buffer.format,
                     "'; they must be plain numbers or booleans in the machine's byte order");
  }
  take_axes(static_cast<std::size_t>(buffer.ndim));
  for (std::size_t i = 0; i < rank_; ++i) {
    extent_[i] = buffer.shape[i];
    if (buffer.strides[i] % buffer.itemsize != 0 && extent_[i] > 1) {
      throw_value_error(name_, " has a stride of ", buffer.strides[i],
                        " bytes, no multiple of its element size ", buffer.itemsize,
                        "; pass a copy");
    }
    stride_[i] = buffer.strides[i] / buffer.itemsize;
  }
  return true;
}

/// NumPy lends no buffer of a type that it knows only from the package ml_dtypes.
bool Array::read_bfloat16_of_numpy() {
  const nb::object dtype = nb::getattr(object_, "dtype", nb::none());
  const nb::object type_name = nb::getattr(dtype, "name", nb::none());
  if (!nb::isinstance<nb::str>(type_name) || nb::cast<std::string>(type_name) != "bfloat16") {
    return false;
  }
  if (!nb::hasattr(object_, "view")) return false;
  keeper_ = object_.attr("view")("uint16");
  if (!read_buffer()) return false;
  dtype_ = {dlpack::kBfloat, 16, 1};
  return true;
}

bool Array::read_exchange_table() {
  const auto* table = is_torch(object_) ? frameworks().torch_table : exchange_table(object_.type());
  if (!table) return false;
  dlpack::Tensor tensor;
  if (table->tensor_from_object(object_.ptr(), &tensor) != 0) refuse();
  take(tensor);
  return true;
}

void Array::read_capsule() {
  if (!nb::hasattr(object_, "__dlpack__")) refuse();
  const nb::object method = object_.attr("__dlpack__");
  keeper_ = nb::steal(PyObject_CallNoArgs(method.ptr()));
  if (!keeper_.is_valid() && PyErr_ExceptionMatches(PyExc_BufferError)) {
    // Read-only arrays are only given to those who know of versions.
    PyErr_Clear();
    try {
      keeper_ = method(nb::arg("max_version") = nb::make_tuple(1, 0));
    } catch (nb::python_error& error) {
      error.restore();
    }
  }
  if (!keeper_.is_valid()) refuse();
  if (PyCapsule_IsValid(keeper_.ptr(), "dltensor")) {
    const void* held = PyCapsule_GetPointer(keeper_.ptr(), "dltensor");
    take(static_cast<const dlpack::ManagedTensor*>(held)->tensor);
  } else if (PyCapsule_IsValid(keeper_.ptr(), "dltensor_versioned")) {
    const void* held = PyCapsule_GetPointer(keeper_.ptr(), "dltensor_versioned");
    const auto& versioned = *static_cast<const dlpack::VersionedTensor*>(held);
    read_only_ = (versioned.flags & dlpack::kReadOnly) != 0;
    take(versioned.tensor);
  } else {
    refuse();
  }
}

void Array::take(const dlpack::Tensor& tensor) {
  if (tensor.device_type != dlpack::kCpu) {
    throw_type_error(name_, " is not in the memory of the CPU; move it there");
  }
  if (is_torch(object_)) require_plain_numbers(object_, name_);
  data_ = static_cast<char*>(tensor.data) + tensor.byte_offset;
  dtype_ = tensor.dtype;
  take_axes(static_cast<std::size_t>(tensor.ndim));
  std::int64_t contiguous = 1;
  for (std::size_t i = rank_; i-- > 0;) {
    extent_[i] = tensor.shape[i];
    stride_[i] = tensor.strides ? tensor.strides[i] : contiguous;
    contiguous *= extent_[i];
  }
}

void Array::take_axes(std::size_t rank) {
  if (rank > kMostAxes) {
    throw_value_error(name_, " has ", rank, " axes; it must have at most ", kMostAxes);
  }
  rank_ = rank;
}

void Array::refuse() const {
  std::string reason;
  if (PyErr_Occurred()) {
    const nb::python_error error;
    const auto text = nb::cast<std::string>(nb::str(error.value()));
    reason = " (" + text.substr(0, text.find('\n')) + ")";
  }
  throw_type_error(name_, " is a ", type_name_of(object_),
                   "; it must be an array that speaks DLPack or the buffer protocol", reason);
}

std::int64_t Array::size() const {
  std::int64_t size = 1;
  for (std::size_t i = 0; i < rank_; ++i) size *= extent_[i];
  return size;
}

bool Array::is_contiguous() const {
  std::int64_t contiguous = 1;
  for (std::size_t i = rank_; i-- > 0;) {
    if (extent_[i] > 1 && stride_[i] != contiguous) return false;
    contiguous *= extent_[i];
  }
  return true;
}

std::string Array::type_name() const {
  constexpr const char* names[] = {"int", "uint", "float", "opaque", "bfloat", "complex"};
  if (dtype_.code == dlpack::kBool) return "boolean";
  const char* name = dtype_.code < std::size(names) ? names[dtype_.code] : "type";
  return name + std::to_string(dtype_.bits);
}

std::optional<Type> Array::type() const {
  for (const Type type :
       {Type::float32, Type::float64, Type::bfloat16, Type::float16, Type::boolean, Type::int64}) {
    if (dtype_ == dtype_of(type)) return type;
  }
  return std::nullopt;
}

Type Array::float_type() const {
  const std::optional<Type> found = type();
  if (!found || *found == Type::boolean || *found == Type::int64) {
    throw_type_error(name_, " is ", type_name(),
                     "; it must be float32, float64, bfloat16 or float16");
  }
  return *found;
}

Tensor Array::tensor(Layout layout) const {
  const Type type = float_type();
  const std::size_t least = 2, most = layout == Layout::packed ? 3 : 4;
  if (rank_ < least || rank_ > most) {
    throw_value_error(name_, " has ", rank_, " axes; it must have ",
                      layout == Layout::packed ? "(tokens, heads, features)"
                      : layout == Layout::positions_first
                          ? "(batch, positions, heads, features), or less of the batch and heads"
                          : "(batch, heads, positions, features), or less of the batch and heads");
  }
  Tensor tensor{data_, type, {1, 1, 1, 1}, {0, 0, 0, 0}};
  const bool positions_first = layout != Layout::heads_first;
  for (std::size_t i = 0; i < rank_; ++i) {
    std::size_t axis = i + kMostAxes - rank_;
    if (positions_first && rank_ > 2 && (axis == 1 || axis == 2)) axis = 3 - axis;
    tensor.extent[axis] = extent_[i];
    tensor.stride[axis] = stride_[i];
  }
  return tensor;
}

OutputTensor Array::output(Layout layout) const {
  if (read_only_) throw_value_error(name_, " is read-only; it must be writable");
  const Tensor view = tensor(layout);
  return {data_, view.type, view.extent, view.stride};
}

Tensor Array::per_row() const {
  if (rank_ < 1 || rank_ > 3) {
    throw_value_error(name_, " has ", rank_, " axes; it must have one less than its out");
  }
  Tensor tensor{data_, float_type(), {1, 1, 1, 1}, {0, 0, 0, 0}};
  for (std::size_t i = 0; i < rank_; ++i) {
    tensor.extent[i + 3 - rank_] = extent_[i];
    tensor.stride[i + 3 - rank_] = stride_[i];
  }
  return tensor;
}

Tensor Array::broadcast() const {
  Tensor tensor{data_, *type(), {1, 1, 1, 1}, {0, 0, 0, 0}};
  for (std::size_t i = 0; i < rank_; ++i) {
    tensor.extent[i + kMostAxes - rank_] = extent_[i];
    tensor.stride[i + kMostAxes - rank_] = stride_[i];
  }
  return tensor;
}

void load_numpy() {
  frameworks().numpy_empty = nb::module_::import_("numpy").attr("empty");
}

dlpack::DataType dtype_of(Type type) {
  switch (type) {
    case Type::float32:
      return {dlpack::kFloat, 32, 1};
    case Type::float64:
      return {dlpack::kFloat, 64, 1};
    case Type::bfloat16:
      return {dlpack::kBfloat, 16, 1};
    case Type::float16:
      return {dlpack::kFloat, 16, 1};
    case Type::boolean:
      return {dlpack::kBool, 8, 1};
    default:
      return {dlpack::kInt, 64, 1};
  }
}

std::string type_name_of(nb::handle object) {
  return nb::cast<std::string>(object.type().attr("__name__"));
}

bool is_torch(nb::handle object) {
  PyTypeObject* tensor = frameworks().tensor_type();
  return tensor && PyType_IsSubtype(Py_TYPE(object.ptr()), tensor);
}

nb::object make_array(nb::handle like, std::span<const std::int64_t> shape,
                      std::optional<Type> type) {
  const nb::object extents = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    PyTuple_SetItem(extents.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
  }
  const char* name = !type ? nullptr : *type == Type::int64 ? "int64" : name_of(*type);
  if (is_torch(like)) {
    if (!name) return like.attr("new_empty")(extents);
    return like.attr("new_empty")(extents, nb::arg("dtype") = frameworks().torch.attr(name));
  }
  if (name) return frameworks().numpy_empty(extents, name);
  const nb::object dtype = nb::getattr(like, "dtype", nb::none());
  if (!dtype.is_none()) return frameworks().numpy_empty(extents, dtype);
  return frameworks().numpy_empty(extents, Array(like, "q").type_name());
}

}  // namespace lookback::python
