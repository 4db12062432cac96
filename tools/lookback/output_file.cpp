#include "output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "failure.hpp"
#include "interrupt.hpp"

namespace lookback::cli {
namespace {

namespace fs = std::filesystem;

std::string error_text() {
  return std::strerror(errno);
}

std::string resolved(const std::string& path) {
  std::error_code ignored;
  const fs::path real = fs::canonical(path, ignored);
  return real.empty() ? path : real.string();
}

fs::path directory_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent;
}

// What open() would give a new file; an existing one keeps its own.
mode_t mode_of(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) == 0) return status.st_mode & 07777;
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

void check_writable(const std::string& path) {
  if (path.empty() || path.back() == '/') {
    throw bad_usage("cannot write '" + path + "': it is not the name of a file");
  }
  const std::string target = resolved(path);
  const fs::path directory = directory_of(target);
  std::error_code error;
  const fs::file_status status = fs::status(target, error);
  if (fs::is_directory(status)) throw bad_usage("cannot write " + path + ": it is a directory");
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw bad_usage("cannot write " + path + ": it is not a plain file");
  }
  if (!fs::is_directory(directory, error)) {
    throw bad_usage("cannot write " + path + ": there is no directory " + directory.string());
  }
  const bool forbidden = access(directory.c_str(), W_OK | X_OK) != 0 ||
                         (fs::exists(status) && access(target.c_str(), W_OK) != 0);
  if (forbidden) throw bad_usage("cannot write " + path + ": " + error_text());
}

OutputFile::OutputFile(const std::string& path) : path_(path), target_(resolved(path)) {
  temporary_ = (directory_of(target_) / ".lookback-XXXXXX").string();
  descriptor_ = mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) throw bad_usage("cannot write " + path_ + ": " + error_text());
  // Best effort: a file system without modes is no reason to refuse.
  static_cast<void>(fchmod(descriptor_, mode_of(target_)));
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::write(std::span<const std::byte> bytes) {
  constexpr std::size_t kPortion = std::size_t{8} << 20;  // so that Ctrl-C is noticed soon
  while (!bytes.empty()) {
    throw_if_interrupted();
    const ssize_t written = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kPortion));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      throw Failure(kExitFailed, "cannot write " + path_ + ": " + error_text());
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void OutputFile::close() {
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0 && errno != EINTR) {
    throw Failure(kExitFailed, "cannot write " + path_ + ": " + error_text());
  }
}

void OutputFile::commit() {
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) {
    throw Failure(kExitFailed, "cannot write " + path_ + ": " + error_text());
  }
  temporary_.clear();
}

}  // namespace lookback::cli
