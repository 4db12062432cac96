// The parts of DLPack that are read here: github.com/dmlc/dlpack, include/dlpack/dlpack.h, 1.3.
#pragma once

#include <cstdint>

namespace lookback::python::dlpack {

constexpr std::int32_t kCpu = 1;

enum Code : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;

  friend bool operator==(const DataType&, const DataType&) = default;
};

struct Tensor {
  void* data;
  std::int32_t device_type;
  std::int32_t device_id;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // null: C order
  std::uint64_t byte_offset;
};

/// What a capsule named "dltensor" holds begins with the tensor.
struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);
};

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

/// What a capsule named "dltensor_versioned" holds.
struct VersionedTensor {
  Version version;
  void* context;
  void (*deleter)(VersionedTensor*);
  std::uint64_t flags;
  Tensor tensor;
};
constexpr std::uint64_t kReadOnly = 1;

/// What the type attribute __dlpack_c_exchange_api__ points to.
struct ExchangeTable {
  Version version;
  ExchangeTable* previous;
  void* allocate;
  void* managed_from_object;
  void* managed_to_object;
  /// Borrows the object's tensor without allocating; may be null. Returns 0, or -1 with an
  /// exception.
  int (*tensor_from_object)(void* object, Tensor* out);
  void* current_stream;
};

}  // namespace lookback::python::dlpack
