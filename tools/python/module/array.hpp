// Arrays of any framework, seen without a copy.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "dlpack.hpp"
#include "lookback/tensor.hpp"

namespace lookback::python {

namespace nb = nanobind;

constexpr std::size_t kMostAxes = 4;

/// Which axes an array has, from its rank: [B, H, n, d] or [B, n, H, d], with the batch, then the
/// heads left out; or all tokens of packed sequences, [tokens, H, d].
enum class Layout : std::uint8_t { heads_first, positions_first, packed };

/// Holds a Python array while it is looked at: through the buffer protocol, DLPack's C table, or a
/// DLPack capsule.
class Array {
 public:
  /// Throws TypeError if the object is no array on the CPU. The name is for errors.
  Array(nb::handle object, const char* name);
  ~Array();
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  nb::handle object() const { return object_; }
  const char* name() const { return name_; }
  void* data() const { return data_; }
  bool is_read_only() const { return read_only_; }
  std::size_t rank() const { return rank_; }
  std::int64_t extent(std::size_t axis) const { return extent_[axis]; }
  std::int64_t stride(std::size_t axis) const { return stride_[axis]; }
  dlpack::DataType dtype() const { return dtype_; }
  bool is_integer() const { return dtype_.code == dlpack::kInt || dtype_.code == dlpack::kUInt; }
  std::int64_t size() const;
  bool is_contiguous() const;

  /// "float32", "int64", ...
  std::string type_name() const;
  /// The engine's type, if it has it.
  std::optional<Type> type() const;

  /// As q, k, v or out. Throws TypeError for a type, ValueError for a rank, that cannot be.
  Tensor tensor(Layout layout) const;
  OutputTensor output(Layout layout) const;
  /// One number per row of an array with one axis more: [B, H, n], [H, n] or [n].
  Tensor per_row() const;
  /// [B, H, n, m] with any number of leading axes left out.
  Tensor broadcast() const;

 private:
  bool read_buffer();
  bool read_bfloat16_of_numpy();
  bool read_exchange_table();
  void read_capsule();
  void take(const dlpack::Tensor& tensor);
  void take_axes(std::size_t rank);
  [[noreturn]] void refuse() const;
  Type float_type() const;

  nb::handle object_;
  const char* name_;
  nb::object keeper_;  // a view or capsule that must outlive the reading
  std::optional<Py_buffer> buffer_;
  void* data_ = nullptr;
  bool read_only_ = false;
  std::size_t rank_ = 0;
  std::array<std::int64_t, kMostAxes> extent_{}, stride_{};  // strides in elements
  dlpack::DataType dtype_{};
};

/// To be called once, before arrays are made.
void load_numpy();

/// The engine's type as DLPack's.
dlpack::DataType dtype_of(Type type);

/// "list", "Tensor", ...
std::string type_name_of(nb::handle object);

/// True for a tensor of PyTorch.
bool is_torch(nb::handle object);

/// A new array of the framework of `like` (PyTorch, else NumPy) and of its type, unless one is
/// given.
nb::object make_array(nb::handle like, std::span<const std::int64_t> shape,
                      std::optional<Type> type = std::nullopt);

}  // namespace lookback::python
