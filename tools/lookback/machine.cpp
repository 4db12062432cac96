#include "machine.hpp"

#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace lookback::cli {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// sysfs writes sizes as "48K" or "32M".
double bytes_of(const std::string& size) {
  if (size.empty()) return 0;
  const double number = std::strtod(size.c_str(), nullptr);
  if (size.back() == 'K') return number * 1024;
  if (size.back() == 'M') return number * 1024 * 1024;
  return number;
}

std::vector<Cache> caches_of_sysfs() {
  const fs::path root = "/sys/devices/system/cpu/cpu0/cache";
  std::vector<Cache> found;
  for (int index = 0;; ++index) {
    const fs::path entry = root / ("index" + std::to_string(index));
    const std::string level = first_line(entry / "level");
    if (level.empty()) return found;
    found.push_back({std::atoi(level.c_str()), first_line(entry / "type"),
                     bytes_of(first_line(entry / "size")), first_line(entry / "shared_cpu_list")});
  }
}

// Some containers hide sysfs; the C library then knows the sizes from the processor itself.
std::vector<Cache> caches_of_sysconf() {
  struct Query {
    int name;
    int level;
    const char* type;
  };
  constexpr Query kQueries[] = {{_SC_LEVEL1_DCACHE_SIZE, 1, "Data"},
                                {_SC_LEVEL1_ICACHE_SIZE, 1, "Instruction"},
                                {_SC_LEVEL2_CACHE_SIZE, 2, "Unified"},
                                {_SC_LEVEL3_CACHE_SIZE, 3, "Unified"}};
  std::vector<Cache> found;
  for (const Query& query : kQueries) {
    const long bytes = sysconf(query.name);
    if (bytes > 0) found.push_back({query.level, query.type, static_cast<double>(bytes), ""});
  }
  return found;
}

}  // namespace

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "";
}

std::vector<Cache> caches() {
  std::vector<Cache> found = caches_of_sysfs();
  return found.empty() ? caches_of_sysconf() : found;
}

int processors() {
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<int>(online)
                    : static_cast<int>(std::thread::hardware_concurrency());
}

int allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : processors();
}

}  // namespace lookback::cli
