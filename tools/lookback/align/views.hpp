// The views that align() gives, as arrays with names: what the files hold and the text shows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "align/source.hpp"
#include "lookback/align.hpp"
#include "npy.hpp"
#include "terminal.hpp"

namespace lookback::cli {

/// A contiguous array of its own memory.
class View {
 public:
  View() = default;
  /// Throws Failure if it could not fit in memory.
  View(Type type, const std::vector<std::int64_t>& shape);

  Type type() const { return type_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  const std::byte* data() const { return data_.data(); }
  /// Of the flat place, whatever the type.
  double at(std::int64_t place) const;
  float float_at(std::int64_t place) const;
  std::int64_t integer_at(std::int64_t place) const;
  /// As the engine writes it: missing axes are behind and have extent 1.
  OutputTensor tensor() const;

 private:
  Type type_ = Type::float32;
  std::vector<std::int64_t> shape_;
  Buffer data_;
};

struct Column {
  std::string name;
  View view;
};

/// Views that share their axes; all start with layer and head.
struct Table {
  std::string name;
  std::vector<std::string> axes;
  std::vector<Column> columns;

  const View& operator[](const std::string& column) const;
};

struct ViewRequest {
  std::int64_t top = 8;
  std::int64_t cells = 128;  // of the map, at most, along each side
  std::vector<std::int64_t> rows;
};

/// Shows the progress of one of several calls of the engine, and ends them on Ctrl-C.
class Progress {
 public:
  explicit Progress(int calls) : calls_(calls) {}
  std::function<bool(double)> next();

 private:
  ProgressBar bar_;
  int calls_;
  int started_ = 0;
};

/// links, rows, keys, map, distances, and weights if rows were asked for. With out, the context
/// too.
std::vector<Table> compute_views(Task task, const ViewRequest& request,
                                 const std::optional<OutputTensor>& out, Progress& progress);

/// The map alone, of at most so many rows and keys of cells.
View compute_map(Task task, std::int64_t rows, std::int64_t keys, Progress& progress);

/// align(), with an interruption turned into the Failure that ends the command.
void call_align(const Task& task, const Views& views, const std::optional<OutputTensor>& out = {});

const Table& table_named(const std::vector<Table>& tables, const std::string& name);

}  // namespace lookback::cli
