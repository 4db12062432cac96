// The engine's options as options of a command; `attend` and `align` share them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lookback/attend.hpp"
#include "npy.hpp"

namespace lookback::cli {

/// As given on the command line.
struct EngineChoice {
  std::optional<double> scale, softcap;
  double temperature = 1.0;
  std::optional<std::string> causal, position, window;
  std::optional<std::int64_t> prefix;
  std::optional<std::string> lengths, mask, bias, alibi, sinks;  // files; the last two also numbers
  std::optional<std::string> packed_q, packed_k;
  bool bf16 = false;
  std::optional<int> threads;

  Elements elements() const { return bf16 ? Elements::floats_or_bfloat16 : Elements::floats; }
  bool packed() const { return packed_q.has_value(); }
  /// The files among them, which no result may overwrite.
  std::vector<std::string> files() const;
};

/// The engine's options, and the memory that they point into.
struct EngineOptions {
  Options options;
  std::vector<std::unique_ptr<NpyArray>> arrays;
  std::vector<std::unique_ptr<std::vector<double>>> numbers;
};

void add_engine_options(CLI::App& command, EngineChoice& choice);
void add_packed_options(CLI::App& command, EngineChoice& choice);

/// What needs no file. Throws Failure for a text that means nothing.
EngineOptions parse_engine_options(const EngineChoice& choice);
/// The rest. Throws Failure for a file that cannot be read or has the wrong rank.
void load_engine_options(const EngineChoice& choice, EngineOptions& engine);

/// An array as the engine sees it. Axes that a smaller rank lacks are in front and have extent 1.
Tensor tensor_of(const NpyArray& array);

}  // namespace lookback::cli
