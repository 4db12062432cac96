// .npy files for and from the command: written byte by byte, so that they can also be wrong.
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/array.hpp"

namespace lookback::test {

using NpyShape = std::vector<std::int64_t>;

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string shape_tuple(const NpyShape& shape) {
  std::string text = "(";
  for (const std::int64_t extent : shape) text += std::to_string(extent) + ",";
  return text + ")";
}

template <class T>
const char* descr_of() {
  return sizeof(T) == 4 ? "<f4" : "<f8";
}

/// The start of a file around any dictionary, with the length that is given or its true one.
inline std::string npy_start(std::string dictionary, int major = 1) {
  dictionary += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(major);
  bytes += '\0';
  std::size_t length = dictionary.size();
  for (int byte = 0; byte < (major == 1 ? 2 : 4); ++byte, length >>= 8) {
    bytes += static_cast<char>(length & 0xff);
  }
  return bytes + dictionary;
}

inline std::string npy_dictionary(const std::string& descr, const NpyShape& shape,
                                  bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape_tuple(shape) + ", }";
}

template <class T>
std::string data_bytes(const std::vector<T>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T)};
}

/// The elements of an array in C order.
template <class T>
std::vector<T> elements_of(const Array<T>& array) {
  std::vector<T> elements;
  array.for_each_place(
      [&](auto b, auto h, auto i, auto c) { elements.push_back(array.at(b, h, i, c)); });
  return elements;
}

template <class T>
void write_array(const std::string& path, const NpyShape& shape, const std::vector<T>& elements) {
  write_bytes(path, npy_start(npy_dictionary(descr_of<T>(), shape)) + data_bytes(elements));
}

/// The elements of a file that must be of this type and shape, in C order, with the data on a
/// multiple of 64 bytes as the format asks.
template <class T>
std::vector<T> read_array(const std::string& path, const NpyShape& shape) {
  const std::string bytes = read_bytes(path);
  const auto refuse = [&](const char* why) { throw std::runtime_error(path + ": " + why); };
  if (bytes.compare(0, 8, std::string("\x93NUMPY\1\0", 8)) != 0) refuse("not an .npy file");
  const std::size_t start =
      10 + static_cast<unsigned char>(bytes.at(8)) + 256U * static_cast<unsigned char>(bytes.at(9));
  if (start % 64 != 0 || bytes.at(start - 1) != '\n') refuse("a header that is not padded");
  std::string header = bytes.substr(10, start - 10);
  std::erase(header, ' ');
  std::string tuple = shape_tuple(shape);
  if (shape.size() > 1) tuple.erase(tuple.size() - 2, 1);
  if (header != std::string("{'descr':'") + descr_of<T>() +
                    "','fortran_order':False,'shape':" + tuple + ",}\n") {
    refuse("another type or shape");
  }
  std::vector<T> elements((bytes.size() - start) / sizeof(T));
  bytes.copy(reinterpret_cast<char*>(elements.data()), elements.size() * sizeof(T), start);
  return elements;
}

}  // namespace lookback::test
