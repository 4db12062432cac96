// What `lookback info` tells about the machine.
#pragma once

#include <string>
#include <vector>

namespace lookback::cli {

/// "Intel(R) Xeon(R) ..."; empty where the system does not tell.
std::string cpu_name();

struct Cache {
  int level = 0;
  std::string type;  // "Data", "Instruction", "Unified"
  double bytes = 0;
  std::string shared_by;  // processors, "0-1"; empty if unknown
};

/// Those of the first processor, lowest level first.
std::vector<Cache> caches();

/// Logical processors of the machine, and those this process may run on.
int processors();
int allowed_processors();

}  // namespace lookback::cli
