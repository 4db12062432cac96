// `lookback info`: what this binary holds and what it found.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "commands.hpp"
#include "lookback/target.hpp"
#include "machine.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace lookback::cli {
namespace {

constexpr std::size_t kLabel = 18;

void print_entry(const std::string& label, const std::string& text) {
  std::printf("%s%s\n", pad_right(label, kLabel).c_str(), text.c_str());
}

void print_targets(const Style& style, const std::string& active) {
  std::string label = "instruction sets";
  for (const Target& target : targets()) {
    std::string text = pad_right(target.name, 10) +
                       pad_left(std::to_string(target.float32_lanes), 3) + " lanes of float32";
    text += target.supported ? "" : ", not on this machine";
    text += target.same_bits ? "" : ", no fused multiply-add: other bits";
    const bool in_use = target.name == active;
    text += in_use ? ", in use" : "";
    print_entry(label, in_use ? style.bold(text) : text);
    label.clear();
  }
  const char* forced = std::getenv("LOOKBACK_ISA");
  if (forced != nullptr && *forced != '\0') {
    print_entry("", std::string("(LOOKBACK_ISA=") + forced + ")");
  }
}

void print_caches() {
  std::string label = "caches";
  for (const Cache& cache : caches()) {
    std::string type = cache.type;
    for (char& c : type) c = (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
    std::string text = "L" + std::to_string(cache.level) + " " + pad_right(type, 12) +
                       pad_left(byte_size(cache.bytes), 9);
    if (!cache.shared_by.empty()) text += "   shared by processors " + cache.shared_by;
    print_entry(label, text);
    label.clear();
  }
}

void run_info() {
  // Asked first: it fails if LOOKBACK_ISA names none, and an error stands alone.
  const std::string active = active_target();
  print_entry("version", version());
  print_targets(Style::of_stdout(), active);
  if (const std::string name = cpu_name(); !name.empty()) print_entry("processor", name);
  print_entry("threads", std::to_string(allowed_processors()) + " of " +
                             count(processors(), "processor") +
                             "; 'attend --threads N' takes fewer");
  print_caches();
  const BlockSizes blocks = block_sizes();
  print_entry("blocks", std::to_string(blocks.key_block) + " keys at a time, " +
                            std::to_string(blocks.chunk) + " in a chunk, on every machine");
}

}  // namespace

void add_info(CLI::App& app) {
  CLI::App* info = app.add_subcommand("info")->group("Commands");
  info->description(
      "What this binary holds and what it found on this machine\n"
      "Version, instruction sets, threads, caches, and the blocks in which keys are taken.");
  info->footer(
      "The environment variable LOOKBACK_ISA forces an instruction set:\n"
      "  LOOKBACK_ISA=avx2 lookback info");
  info->callback([] { run_info(); });
}

}  // namespace lookback::cli
