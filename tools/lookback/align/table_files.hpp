// The views as files: .npy, .csv and .json.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "align/source.hpp"
#include "align/views.hpp"
#include "output_file.hpp"

namespace lookback::cli {

/// Files that appear all or none.
class OutputFiles {
 public:
  OutputFile& add(const std::string& path);
  void commit();

 private:
  std::vector<std::unique_ptr<OutputFile>> files_;
};

struct TableNames {
  const Source& source;
  const Selection& selection;
  const std::vector<std::int64_t>& rows;  // those asked for, the axis "chosen"
};

/// prefix-links.csv and so on: a line for every place, with its axes, words and numbers.
std::vector<std::string> csv_paths(const std::string& prefix,
                                   const std::vector<std::string>& names);
void write_csv(OutputFiles& files, const std::string& prefix, const std::vector<Table>& tables,
               const TableNames& names);

/// prefix-entropy.npy and so on: an array for every view, [layers, heads, ...].
std::vector<std::string> npy_paths(const std::string& prefix,
                                   const std::vector<std::string>& names);
void write_npy_views(OutputFiles& files, const std::string& prefix,
                     const std::vector<Table>& tables);

/// The names of all tables, and of all columns, that there are with or without chosen rows.
std::vector<std::string> table_names(bool with_rows);
std::vector<std::string> view_names(bool with_rows);

/// One object: words, options and every view as nested lists. What is not finite is null.
std::string json_text(const std::vector<Table>& tables, const TableNames& names,
                      const Options& options);

/// The shortest decimal that reads back as the same number of its type; "nan", "-inf".
std::string number_text(const View& view, std::int64_t place);

}  // namespace lookback::cli
