#include "npy_header.hpp"

#include <charconv>
#include <optional>
#include <string_view>

#include "failure.hpp"
#include "text.hpp"

namespace lookback::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

[[noreturn]] void garbled(const std::string& name, const std::string& what) {
  throw bad_usage(name + " is not a readable .npy file: " + what);
}

// The header is a Python dictionary literal; of that language only what np.save writes is read:
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class DictionaryReader {
 public:
  DictionaryReader(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  NpyHeader read() {
    expect('{');
    while (!accept('}')) {
      read_entry();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (!rest_.empty()) fail("there is text after its dictionary");
    if (!descr_) fail("'descr' is missing");
    if (!fortran_order_) fail("'fortran_order' is missing");
    if (!shape_) fail("'shape' is missing");
    return {*descr_, *fortran_order_, *shape_};
  }

 private:
  void read_entry() {
    const std::string key = read_string();
    expect(':');
    if (key == "descr") {
      set(descr_, read_descr(), key);
    } else if (key == "fortran_order") {
      set(fortran_order_, read_bool(), key);
    } else if (key == "shape") {
      set(shape_, read_shape(), key);
    } else {
      fail("it has an unknown key '" + printable(key) + "'");
    }
  }

  template <class T>
  void set(std::optional<T>& place, T value, const std::string& key) {
    if (place) fail("'" + key + "' occurs twice");
    place = std::move(value);
  }

  std::string read_descr() {
    skip_blanks();
    if (rest_.starts_with('[')) {
      throw bad_usage(name_ + " holds records of several fields; float32 or float64 is needed");
    }
    return read_string();
  }

  std::string read_string() {
    skip_blanks();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    if (quote != '\'' && quote != '"') fail("a quoted word was expected");
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) fail("a quote is not closed");
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool read_bool() {
    skip_blanks();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (rest_.starts_with(word)) {
        rest_.remove_prefix(word.size());
        return value;
      }
    }
    fail("'fortran_order' is neither True nor False");
  }

  std::vector<std::int64_t> read_shape() {
    std::vector<std::int64_t> shape;
    expect('(');
    while (!accept(')')) {
      shape.push_back(read_extent());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::int64_t read_extent() {
    skip_blanks();
    std::int64_t extent = 0;
    const char* end = rest_.data() + rest_.size();
    const auto [stop, error] = std::from_chars(rest_.data(), end, extent);
    if (error == std::errc::result_out_of_range) fail("an extent in 'shape' exceeds 64 bits");
    if (error != std::errc()) fail("'shape' is not a tuple of integers");
    if (extent < 0) fail("'shape' has the negative extent " + std::to_string(extent));
    rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
    return extent;
  }

  void skip_blanks() {
    const std::size_t start = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(start == std::string_view::npos ? rest_.size() : start);
  }

  bool accept(char symbol) {
    skip_blanks();
    if (!rest_.starts_with(symbol)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char symbol) {
    if (!accept(symbol)) fail(std::string("'") + symbol + "' was expected");
  }

  // Garbage must not reach a terminal as control characters, nor fill it.
  static std::string printable(std::string_view text) {
    constexpr std::size_t kLongest = 20;
    std::string shown(text.substr(0, kLongest));
    for (char& c : shown) c = (c >= ' ' && c <= '~') ? c : '?';
    return shown + (text.size() > kLongest ? "..." : "");
  }

  [[noreturn]] void fail(const std::string& what) const {
    garbled(name_, "in its header, " + what);
  }

  std::string_view rest_;
  const std::string& name_;
  std::optional<std::string> descr_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<std::int64_t>> shape_;
};

std::size_t little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> bytes, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.empty()) throw bad_usage(name + " is empty; an .npy file was expected");
  if (!text.starts_with(kMagic)) {
    if (kMagic.starts_with(text)) garbled(name, "it ends within its first bytes");
    garbled(name, "it does not start with the mark of the format");
  }
  constexpr std::size_t kVersionEnd = 8;  // six bytes of mark, major, minor
  if (text.size() < kVersionEnd) garbled(name, "it ends within its first bytes");
  const int major = static_cast<unsigned char>(text[6]);
  if (major < 1 || major > 3) {
    garbled(name, "format version " + std::to_string(major) + " is unknown (1, 2 and 3 are read)");
  }
  const std::size_t length_size = major == 1 ? 2 : 4;
  const std::size_t prefix = kVersionEnd + length_size;
  if (text.size() < prefix) garbled(name, "it ends within its first bytes");
  const std::size_t length = little_endian(text.substr(kVersionEnd, length_size));
  if (length > kMaxNpyHeader - prefix) {
    garbled(name,
            "its header claims " + std::to_string(length) + " bytes, far more than any needs");
  }
  if (length > text.size() - prefix) {
    garbled(name, "it is truncated, for its header claims " + std::to_string(length) +
                      " bytes and " + std::to_string(text.size() - prefix) + " are there");
  }
  NpyHeader header = DictionaryReader(text.substr(prefix, length), name).read();
  header.size = prefix + length;
  return header;
}

const char* descr_of(Type type) {
  constexpr const char* kDescr[] = {"<f4", "<f8", "<u2", "<f2", "|b1", "<i8"};  // in Type's order
  return kDescr[static_cast<int>(type)];
}

std::string npy_header_text(Type type, const std::vector<std::int64_t>& shape) {
  constexpr std::size_t kAlignment = 64;
  constexpr std::size_t kPrefix = 10;
  std::string dictionary = std::string("{'descr': '") + descr_of(type) +
                           "', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";
  const std::size_t used = kPrefix + dictionary.size() + 1;  // with the newline that ends it
  dictionary.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  dictionary += '\n';

  std::string header(kMagic);
  header += '\1';
  header += '\0';
  header += static_cast<char>(dictionary.size() & 0xff);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

}  // namespace lookback::cli
