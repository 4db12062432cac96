#include "align/source.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "arrays.hpp"
#include "failure.hpp"
#include "sentence.hpp"
#include "text.hpp"

namespace lookback::cli {
namespace {

std::vector<std::string> numbered(std::int64_t n) {
  std::vector<std::string> words;
  for (std::int64_t i = 0; i < n; ++i) words.push_back(std::to_string(i));
  return words;
}

Source load_built_in() {
  Sentence sentence = load_sentence();
  Source source;
  source.q = std::move(sentence.q);
  source.k = std::move(sentence.k);
  source.v = std::move(sentence.v);
  source.text = sentence.text;
  source.query_words = sentence.tokens;
  source.key_words = std::move(sentence.tokens);
  source.has_words = true;
  source.has_layers = true;
  return source;
}

std::vector<std::string> words_for(const std::string& path, std::int64_t n, const char* what) {
  std::vector<std::string> words = read_words(path);
  if (static_cast<std::int64_t>(words.size()) == n) return words;
  throw bad_usage(path + " has " + count(static_cast<std::int64_t>(words.size()), "word") +
                  " but there are " + count(n, what));
}

void name_words(Source& source, const SourceChoice& choice) {
  const std::int64_t n_q = source.rows();
  const std::int64_t n_k = source.keys();
  if (choice.tokens) source.key_words = words_for(*choice.tokens, n_k, "key");
  if (choice.query_tokens) source.query_words = words_for(*choice.query_tokens, n_q, "row");
  source.has_words = choice.tokens || choice.query_tokens;
  if (choice.tokens && !choice.query_tokens && n_q == n_k) source.query_words = source.key_words;
  if (source.key_words.empty()) source.key_words = numbered(n_k);
  if (source.query_words.empty()) source.query_words = numbered(n_q);
}

std::int64_t chosen(const char* option, const std::optional<std::int64_t>& given, std::int64_t n) {
  if (!given) return 0;
  if (*given >= 0 && *given < n) return *given;
  throw bad_usage(std::string(option) + ": '" + std::to_string(*given) +
                  "' is not a whole number from 0 to " + std::to_string(n - 1));
}

// The part of an axis that has the full extent; what is broadcast along it stays.
Tensor part_of(Tensor tensor, std::size_t axis, std::int64_t full, std::int64_t first,
               std::int64_t extent) {
  if (tensor.extent[axis] != full || extent == full) return tensor;
  const std::int64_t bytes = first * tensor.stride[axis] * size_of(tensor.type);
  tensor.data = static_cast<const std::byte*>(tensor.data) + bytes;
  tensor.extent[axis] = extent;
  return tensor;
}

// Of numbers per head, or per layer and head.
std::span<const double> part_of(std::span<const double> numbers, const Source& source,
                                const Selection& selection, EngineOptions& engine) {
  const auto layers = static_cast<std::size_t>(source.layers());
  const auto heads = static_cast<std::size_t>(source.heads());
  if (numbers.size() != heads && numbers.size() != layers * heads) return numbers;
  engine.numbers.push_back(std::make_unique<std::vector<double>>());
  std::vector<double>& part = *engine.numbers.back();
  const bool per_layer = numbers.size() != heads || layers == 1;
  const std::int64_t lists = per_layer ? selection.layers : 1;
  for (std::int64_t l = 0; l < lists; ++l) {
    const std::int64_t layer = per_layer ? selection.first_layer + l : 0;
    for (std::int64_t h = 0; h < selection.heads; ++h) {
      const std::int64_t place = layer * source.heads() + selection.first_head + h;
      part.push_back(numbers[static_cast<std::size_t>(place)]);
    }
  }
  return part;
}

}  // namespace

std::vector<std::string> SourceChoice::files() const {
  std::vector<std::string> files;
  if (!sentence) files = {q, k};
  for (const auto* file : {&v, &tokens, &query_tokens}) {
    if (*file) files.push_back(**file);
  }
  return files;
}

std::vector<std::string> read_words(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    throw bad_usage("cannot read " + path + ": it is not a file that can be opened");
  }
  std::ostringstream text;
  text << file.rdbuf();
  if (!path.ends_with(".json")) {
    std::istringstream stream(text.str());
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
  }
  try {
    return nlohmann::json::parse(text.str()).get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception&) {
    throw bad_usage(path + " is not a JSON list of words, such as [\"the\", \"cat\"]");
  }
}

Source load_source(const SourceChoice& choice, Elements elements) {
  if (choice.sentence) return load_built_in();
  Source source;
  source.q = read_ranked(choice.q, elements);
  source.k = read_ranked(choice.k, elements);
  check_same_rank(source.q, source.k);
  if (choice.v) {
    source.v = read_ranked(*choice.v, elements);
    check_same_rank(source.q, *source.v);
  }
  source.has_layers = source.q.shape.size() == 4;
  if (source.layers() * source.heads() * source.rows() * source.keys() == 0) {
    throw bad_usage("there is nothing to look at: " + source.q.name + " has the shape " +
                    shape_text(source.q.shape) + " and " + source.k.name + " " +
                    shape_text(source.k.shape));
  }
  name_words(source, choice);
  return source;
}

Selection select(const Source& source, const std::optional<std::int64_t>& layer,
                 const std::optional<std::int64_t>& head) {
  return {chosen("--layer", layer, source.layers()), layer ? 1 : source.layers(),
          chosen("--head", head, source.heads()), head ? 1 : source.heads()};
}

Task select_task(const Source& source, EngineOptions& engine, const Selection& selection) {
  Task task = {tensor_of(source.q), tensor_of(source.k), std::nullopt, engine.options};
  if (source.v) task.v = tensor_of(*source.v);
  const std::int64_t B = source.layers();
  const std::int64_t H = source.heads();
  const std::int64_t H_kv = task.k.extent[1];
  // What does not fit is left for the engine to refuse, in its own words.
  if (task.k.extent[0] != B || H_kv == 0 || H % H_kv != 0) return task;

  const auto layers_of = [&](const Tensor& tensor) {
    return part_of(tensor, 0, B, selection.first_layer, selection.layers);
  };
  const auto heads_of = [&](const Tensor& tensor) {
    return part_of(layers_of(tensor), 1, H, selection.first_head, selection.heads);
  };
  const auto kv_heads_of = [&](const Tensor& tensor) {
    if (selection.heads == H) return layers_of(tensor);
    return part_of(layers_of(tensor), 1, H_kv, selection.first_head / (H / H_kv), 1);
  };
  task.q = heads_of(task.q);
  task.k = kv_heads_of(task.k);
  if (task.v) task.v = kv_heads_of(*task.v);
  Options& options = task.options;
  if (options.mask) options.mask = heads_of(*options.mask);
  if (options.bias) options.bias = heads_of(*options.bias);
  if (options.alibi) options.alibi = part_of(*options.alibi, source, selection, engine);
  if (options.sinks) options.sinks = part_of(*options.sinks, source, selection, engine);
  if (options.lengths && static_cast<std::int64_t>(options.lengths->size()) == B) {
    options.lengths = options.lengths->subspan(static_cast<std::size_t>(selection.first_layer),
                                               static_cast<std::size_t>(selection.layers));
  }
  return task;
}

}  // namespace lookback::cli
