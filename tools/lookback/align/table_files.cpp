#include "align/table_files.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

namespace lookback::cli {
namespace {

template <class T>
std::string shortest_text(T value) {
  std::array<char, 40> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

// Written in portions, for a whole file may be large.
class TextWriter {
 public:
  explicit TextWriter(OutputFile& file) : file_(file) {}
  void add(const std::string& text) {
    constexpr std::size_t kPortion = std::size_t{1} << 20;
    text_ += text;
    if (text_.size() >= kPortion) flush();
  }
  void flush() {
    file_.write(std::as_bytes(std::span(text_)));
    text_.clear();
  }

 private:
  OutputFile& file_;
  std::string text_;
};

std::string quoted(const std::string& word) {
  if (word.find_first_of(",\"\r\n") == std::string::npos) return word;
  std::string text = "\"";
  for (const char c : word) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

// An index as it is called outside: layers and heads count from the selection's first, chosen rows
// are rows.
std::int64_t outer_index(const std::string& axis, std::int64_t index, const TableNames& names) {
  if (axis == "layer") return names.selection.first_layer + index;
  if (axis == "head") return names.selection.first_head + index;
  if (axis == "chosen") return names.rows[static_cast<std::size_t>(index)];
  return index;
}

// The word of an index, with the comma before it; nothing for what has none.
std::string word_text(const std::string& axis, std::int64_t index, const TableNames& names) {
  if (!names.source.has_words) return "";
  const bool is_row = axis == "row" || axis == "chosen";
  if (!is_row && axis != "key") return "";
  const auto& words = is_row ? names.source.query_words : names.source.key_words;
  return index < 0 ? "," : "," + quoted(words[static_cast<std::size_t>(index)]);
}

std::string csv_header(const Table& table, const TableNames& names) {
  std::string line;
  const auto add = [&](const std::string& name) {
    const bool has_word = name == "row" || name == "chosen" || name == "key";
    const std::string shown = name == "chosen" ? "row" : name;
    line += (line.empty() ? "" : ",") + shown;
    if (has_word && names.source.has_words) line += "," + shown + "_word";
  };
  for (const std::string& axis : table.axes) add(axis);
  for (const Column& column : table.columns) add(column.name);
  return line + "\n";
}

std::string csv_line(const Table& table, std::int64_t place, const TableNames& names) {
  const std::vector<std::int64_t>& shape = table.columns.front().view.shape();
  std::vector<std::int64_t> index(shape.size());
  std::int64_t rest = place;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = rest % shape[axis];
    rest /= shape[axis];
  }
  std::string line;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t outer = outer_index(table.axes[axis], index[axis], names);
    line +=
        (axis > 0 ? "," : "") + std::to_string(outer) + word_text(table.axes[axis], outer, names);
  }
  for (const Column& column : table.columns) {
    line += "," + number_text(column.view, place);
    if (column.view.type() == Type::int64) {
      line += word_text(column.name, column.view.integer_at(place), names);
    }
  }
  return line + "\n";
}

void add_nested(std::string& text, const View& view, std::size_t axis, std::int64_t& place) {
  if (axis == view.shape().size()) {
    text += std::isfinite(view.at(place)) ? number_text(view, place) : "null";
    ++place;
    return;
  }
  text += "[";
  for (std::int64_t i = 0; i < view.shape()[axis]; ++i) {
    if (i > 0) text += ",";
    add_nested(text, view, axis + 1, place);
  }
  text += "]";
}

nlohmann::json counted(std::int64_t first, std::int64_t n) {
  nlohmann::json list = nlohmann::json::array();
  for (std::int64_t i = 0; i < n; ++i) list.push_back(first + i);
  return list;
}

}  // namespace

OutputFile& OutputFiles::add(const std::string& path) {
  files_.push_back(std::make_unique<OutputFile>(path));
  return *files_.back();
}

void OutputFiles::commit() {
  for (const auto& file : files_) file->close();
  for (const auto& file : files_) file->commit();
}

std::string number_text(const View& view, std::int64_t place) {
  if (view.type() == Type::int64) return std::to_string(view.integer_at(place));
  if (view.type() == Type::float64) return shortest_text(view.at(place));
  return shortest_text(view.float_at(place));
}

std::vector<std::string> table_names(bool with_rows) {
  std::vector<std::string> names = {"links", "rows", "keys", "map", "distances"};
  if (with_rows) names.emplace_back("weights");
  return names;
}

std::vector<std::string> view_names(bool with_rows) {
  std::vector<std::string> names = {"key",      "weight",           "entropy",    "largest",
                                    "position", "distance",         "lse",        "received",
                                    "mass",     "received_largest", "mean_weight"};
  if (with_rows) names.emplace_back("weights");
  return names;
}

std::vector<std::string> csv_paths(const std::string& prefix,
                                   const std::vector<std::string>& names) {
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back(prefix + "-" + name + ".csv");
  return paths;
}

void write_csv(OutputFiles& files, const std::string& prefix, const std::vector<Table>& tables,
               const TableNames& names) {
  for (const Table& table : tables) {
    TextWriter writer(files.add(csv_paths(prefix, {table.name}).front()));
    writer.add(csv_header(table, names));
    const std::int64_t places = elements_of(table.columns.front().view.shape());
    for (std::int64_t place = 0; place < places; ++place) {
      writer.add(csv_line(table, place, names));
    }
    writer.flush();
  }
}

std::vector<std::string> npy_paths(const std::string& prefix,
                                   const std::vector<std::string>& names) {
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back(prefix + "-" + name + ".npy");
  return paths;
}

void write_npy_views(OutputFiles& files, const std::string& prefix,
                     const std::vector<Table>& tables) {
  for (const Table& table : tables) {
    for (const auto& [name, view] : table.columns) {
      write_npy(files.add(npy_paths(prefix, {name}).front()), view.type(), view.shape(),
                view.data());
    }
  }
}

std::string json_text(const std::vector<Table>& tables, const TableNames& names,
                      const Options& options) {
  const Selection& selection = names.selection;
  nlohmann::ordered_json head;
  if (!names.source.text.empty()) head["text"] = names.source.text;
  head["layers"] = counted(selection.first_layer, selection.layers);
  head["heads"] = counted(selection.first_head, selection.heads);
  if (names.source.has_words) {
    head["row_words"] = names.source.query_words;
    head["key_words"] = names.source.key_words;
  }
  head["n_q"] = names.source.rows();
  head["n_k"] = names.source.keys();
  head["temperature"] = options.temperature;
  head["causal"] = options.causal;
  if (!names.rows.empty()) head["chosen_rows"] = names.rows;
  // Words that are not UTF-8 must not stop the numbers.
  std::string text = head.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.pop_back();
  for (const Table& table : tables) {
    text += ",\n\"" + table.name + "\":{\"axes\":" + nlohmann::json(table.axes).dump();
    for (const auto& [name, view] : table.columns) {
      std::int64_t place = 0;
      text += ",\n\"" + name + "\":";
      add_nested(text, view, 0, place);
    }
    text += "}";
  }
  return text + "}\n";
}

}  // namespace lookback::cli
