// A file that appears whole or not at all.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lookback::cli {

/// Throws Failure (kExitUsage) if a file at path could not be written: no directory, no permission,
/// or something that is not a plain file in its place. Creates nothing.
void check_writable(const std::string& path);

/// Written under another name in the same directory; commit() gives it its own. Without commit()
/// the destructor removes it, and what was at path before stays as it was.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Throws Failure (kExitFailed) when the disk is full and the like, and on Ctrl-C.
  void write(std::span<const std::byte> bytes);
  /// After all was written: closes, so that a late write error still ends in failure here.
  void close();
  void commit();

 private:
  std::string path_;    // as given, for messages
  std::string target_;  // with symbolic links resolved, so that the link survives
  std::string temporary_;
  int descriptor_ = -1;
};

}  // namespace lookback::cli
