// What `lookback align` looks at: queries and keys of some layers and heads, and their words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine_options.hpp"
#include "lookback/attend.hpp"
#include "npy.hpp"

namespace lookback::cli {

/// The files of a text; the sentence inside this command needs none.
struct SourceChoice {
  std::string q, k;
  std::optional<std::string> v, tokens, query_tokens;
  bool sentence = false;

  std::vector<std::string> files() const;
};

struct Source {
  NpyArray q, k;
  std::optional<NpyArray> v;
  std::string text;  // of the sentence; empty where only its words are known
  std::vector<std::string> query_words, key_words;  // as many as rows and keys
  bool has_words = false;                           // else they are numbers
  bool has_layers = false;                          // rank 4: the first axis is the layer

  std::int64_t layers() const { return tensor_of(q).extent[0]; }
  std::int64_t heads() const { return tensor_of(q).extent[1]; }
  std::int64_t rows() const { return tensor_of(q).extent[2]; }
  std::int64_t keys() const { return tensor_of(k).extent[2]; }
};

/// Throws Failure if a file cannot be read, or its shape or its number of words does not fit.
Source load_source(const SourceChoice& choice, Elements elements);

/// The words of a .json file (a list) or of a text (apart by blanks).
std::vector<std::string> read_words(const std::string& path);

/// Layers and heads that are asked for: one, or all of them.
struct Selection {
  std::int64_t first_layer = 0, layers = 1;
  std::int64_t first_head = 0, heads = 1;
};

Selection select(const Source& source, const std::optional<std::int64_t>& layer,
                 const std::optional<std::int64_t>& head);

/// A call of the engine without its outputs.
struct Task {
  Tensor q, k;
  std::optional<Tensor> v;
  Options options;
};

/// The part of the work that a selection is. Numbers per head that the part needs are kept in
/// engine.
Task select_task(const Source& source, EngineOptions& engine, const Selection& selection);

}  // namespace lookback::cli
