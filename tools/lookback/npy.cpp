#include "npy.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include "failure.hpp"
#include "interrupt.hpp"
#include "npy_header.hpp"
#include "text.hpp"

namespace lookback::cli {
namespace {

static_assert(std::endian::native == std::endian::little, ".npy data is read as it lies");

constexpr std::align_val_t kCacheLine{64};
constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();

class InputFile {
 public:
  explicit InputFile(const std::string& path) : path_(path) {
    // Non-blocking: opening a pipe that nobody writes to would otherwise wait for ever.
    descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) fail(std::strerror(errno));
    struct stat status = {};
    if (fstat(descriptor_, &status) != 0) fail(std::strerror(errno));
    if (S_ISDIR(status.st_mode)) fail("it is a directory");
    if (!S_ISREG(status.st_mode)) fail("it is not a plain file");
    size_ = status.st_size;
  }
  ~InputFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::int64_t size() const { return size_; }

  void read_at(std::int64_t offset, std::span<std::byte> bytes) const {
    constexpr std::size_t kPortion = std::size_t{8} << 20;  // so that Ctrl-C is noticed soon
    while (!bytes.empty()) {
      throw_if_interrupted();
      const ssize_t got =
          pread(descriptor_, bytes.data(), std::min(bytes.size(), kPortion), offset);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(std::strerror(errno));
      if (got == 0) fail("it became shorter while it was read");
      bytes = bytes.subspan(static_cast<std::size_t>(got));
      offset += got;
    }
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw bad_usage("cannot read " + (path_.empty() ? "''" : path_) + ": " + why);
  }

  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

// "int64" for "<i8".
std::string type_name(const std::string& descr) {
  constexpr std::pair<char, const char*> kKinds[] = {
      {'f', "float"}, {'i', "int"}, {'u', "uint"}, {'c', "complex"}};
  if (descr == "|b1" || descr == "?") return "bool";
  int bytes = 0;
  if (descr.size() > 2) bytes = std::atoi(descr.c_str() + 2);
  for (const auto& [kind, word] : kKinds) {
    if (bytes > 0 && bytes <= 32 && descr.size() > 2 && descr[1] == kind) {
      return word + std::to_string(8 * bytes);
    }
  }
  return "elements of another type";
}

struct Wanted {
  const char* types;    // in words
  const char* example;  // what astype() takes
};

Wanted in_words(Elements wanted) {
  if (wanted == Elements::booleans) return {"bool", "bool"};
  if (wanted == Elements::integers) return {"int64", "<i8"};
  return {"little-endian float16, float32 or float64", "<f4"};
}

bool is_wanted(Type type, Elements wanted) {
  if (wanted == Elements::booleans) return type == Type::boolean;
  if (wanted == Elements::integers) return type == Type::int64;
  return is_floating_point(type) &&
         (type != Type::bfloat16 || wanted == Elements::floats_or_bfloat16);
}

Type type_of_descr(const std::string& descr, const std::string& name, Elements wanted) {
  for (const Type type :
       {Type::float32, Type::float64, Type::float16, Type::bfloat16, Type::boolean, Type::int64}) {
    if (descr == descr_of(type) && is_wanted(type, wanted)) return type;
  }
  const bool big_endian = descr.starts_with('>');
  const auto [types, example] = in_words(wanted);
  std::string sentence = name + " holds " + (big_endian ? "big-endian " : "") + type_name(descr) +
                         "; " + types + " is needed, as a.astype('" + example + "') gives";
  if (descr == "<u2" && wanted == Elements::floats) sentence += " (with --bf16 it is bfloat16)";
  throw bad_usage(sentence);
}

std::vector<std::int64_t> strides_of(const NpyHeader& header) {
  const std::size_t rank = header.shape.size();
  std::vector<std::int64_t> stride(rank);
  std::int64_t step = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t axis = header.fortran_order ? i : rank - 1 - i;
    stride[axis] = step;
    // An extent of 0 leaves nothing to step over, but the others must not grow out of bounds.
    step *= std::max<std::int64_t>(header.shape[axis], 1);
  }
  return stride;
}

// The product of the extents other than 0: also without elements, an array has positions to count
// and strides to hold.
std::int64_t places_of(std::vector<std::int64_t> shape) {
  std::replace(shape.begin(), shape.end(), std::int64_t{0}, std::int64_t{1});
  return elements_of(shape);
}

// Everything but the data, with its size held against that of the file before memory is taken.
NpyArray describe(const NpyHeader& header, std::int64_t file_size, const std::string& name,
                  Elements wanted) {
  NpyArray array;
  array.name = name;
  array.type = type_of_descr(header.descr, name, wanted);
  array.shape = header.shape;

  if (places_of(array.shape) > kMaxInt64 / size_of(array.type)) {
    throw bad_usage(name + " has the shape " + shape_text(array.shape) +
                    ", which is more than 64-bit addresses can reach");
  }
  array.stride = strides_of(header);

  const std::int64_t needed = elements_of(array.shape) * size_of(array.type);
  const std::int64_t there = file_size - static_cast<std::int64_t>(header.size);
  if (needed != there) {
    throw bad_usage(name + (there < needed ? " is truncated" : " is too long") + ": the shape " +
                    shape_text(array.shape) + " in " + name_of(array.type) + " takes " +
                    std::to_string(needed) + " bytes of data and " + std::to_string(there) +
                    " are there");
  }
  return array;
}

}  // namespace

Buffer::Buffer(std::size_t bytes)
    : data_(static_cast<std::byte*>(::operator new(bytes, kCacheLine))) {}

void Buffer::Free::operator()(std::byte* data) const {
  ::operator delete(data, kCacheLine);
}

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  if (std::count(shape.begin(), shape.end(), 0) > 0) return 0;
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) {
    if (product > kMaxInt64 / extent) return kMaxInt64;
    product *= extent;
  }
  return product;
}

void check_fits_in_memory(const std::vector<std::int64_t>& shape, Type type,
                          const std::string& what) {
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  const double needed = static_cast<double>(places_of(shape)) * static_cast<double>(size_of(type));
  if (needed <= memory) return;
  throw bad_usage(what + " has the shape " + shape_text(shape) +
                  ", which is more than the memory of this machine holds (" + byte_size(memory) +
                  ")");
}

NpyArray read_npy(const std::string& path, Elements wanted) {
  const InputFile file(path);
  std::vector<std::byte> start(
      static_cast<std::size_t>(std::min(file.size(), static_cast<std::int64_t>(kMaxNpyHeader))));
  file.read_at(0, start);
  const NpyHeader header = parse_npy_header(start, path);
  NpyArray array = describe(header, file.size(), path, wanted);
  check_fits_in_memory(array.shape, array.type, path);

  const auto bytes = static_cast<std::size_t>(elements_of(array.shape) * size_of(array.type));
  array.memory = Buffer(bytes);
  array.data = array.memory.data();
  file.read_at(static_cast<std::int64_t>(header.size), {array.memory.data(), bytes});
  return array;
}

NpyArray view_npy(std::span<const std::byte> bytes, const std::string& name) {
  const NpyHeader header = parse_npy_header(bytes, name);
  NpyArray array =
      describe(header, static_cast<std::int64_t>(bytes.size()), name, Elements::floats);
  array.data = bytes.data() + header.size;
  return array;
}

void write_npy(OutputFile& file, Type type, const std::vector<std::int64_t>& shape,
               const std::byte* data) {
  const std::string header = npy_header_text(type, shape);
  file.write(std::as_bytes(std::span(header)));
  file.write({data, static_cast<std::size_t>(elements_of(shape) * size_of(type))});
}

}  // namespace lookback::cli
