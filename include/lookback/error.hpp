// The one exception type of the library.
#pragma once

#include <stdexcept>
#include <string>

#include "lookback/export.h"

namespace lookback {

enum class ErrorCode {
  invalid_argument,    // something passed in is wrong; nothing was written
  unsupported_target,  // the instruction set asked for is not in this binary or not on this machine
  cancelled,           // the progress callback asked to stop; the outputs are not to be used
  out_of_memory,       // scratch could not be allocated; the outputs are not to be used
};

/// what() is one sentence that names the argument, the value and what would do.
class LOOKBACK_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace lookback
