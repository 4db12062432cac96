// Arrays in .npy files: read whole, checked before memory is taken, and written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lookback/tensor.hpp"
#include "output_file.hpp"

namespace lookback::cli {

/// Memory for elements, on a cache line so that no vector load is split. Not initialised.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes);
  std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte[], Free> data_;
};

struct NpyArray {
  std::string name;  // of the file, for messages
  Type type = Type::float32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> stride;  // in elements; Fortran order is only other strides
  const std::byte* data = nullptr;
  Buffer memory;  // what data points into, unless that is someone else's
};

/// What a file may hold. NumPy has no bfloat16; its bit patterns travel as uint16, which is taken
/// for bfloat16 only where one says so.
enum class Elements : std::uint8_t { floats, floats_or_bfloat16, booleans, integers };

/// All throw Failure (kExitUsage) with one sentence that names the file and what is wrong.
NpyArray read_npy(const std::string& path, Elements wanted = Elements::floats);
/// An array inside bytes, which must outlive it.
NpyArray view_npy(std::span<const std::byte> bytes, const std::string& name);
void write_npy(OutputFile& file, Type type, const std::vector<std::int64_t>& shape,
               const std::byte* data);

/// How many elements a shape has; the largest int64 where that is more than 64 bits hold.
std::int64_t elements_of(const std::vector<std::int64_t>& shape);

/// Throws Failure if an array of this shape cannot fit in this machine's memory. An extent of 0
/// counts as 1: (10^18, 0) takes no memory, but nobody waits for so many rows.
void check_fits_in_memory(const std::vector<std::int64_t>& shape, Type type,
                          const std::string& what);

}  // namespace lookback::cli
