#include "sentence.hpp"

#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>

#include "embed.hpp"

asm(R"(
  .pushsection .rodata
  lookback_embed lookback_q, q.npy
  lookback_embed lookback_k, k.npy
  lookback_embed lookback_v, v.npy
  lookback_embed lookback_tokens, tokens.json
  lookback_embed lookback_text, text.txt
  .popsection
)");

#pragma GCC visibility push(hidden)
extern "C" {
extern const std::byte lookback_q_begin[], lookback_q_end[];
extern const std::byte lookback_k_begin[], lookback_k_end[];
extern const std::byte lookback_v_begin[], lookback_v_end[];
extern const std::byte lookback_tokens_begin[], lookback_tokens_end[];
extern const std::byte lookback_text_begin[], lookback_text_end[];
}
#pragma GCC visibility pop

namespace lookback::cli {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

Sentence load_sentence() {
  Sentence sentence;
  sentence.q = view_npy({lookback_q_begin, lookback_q_end}, "q.npy");
  sentence.k = view_npy({lookback_k_begin, lookback_k_end}, "k.npy");
  sentence.v = view_npy({lookback_v_begin, lookback_v_end}, "v.npy");
  sentence.text = text_of({lookback_text_begin, lookback_text_end});
  sentence.tokens = nlohmann::json::parse(text_of({lookback_tokens_begin, lookback_tokens_end}));

  const std::vector<std::int64_t> expected = {
      Sentence::kLayers, Sentence::kHeads, static_cast<std::int64_t>(sentence.tokens.size()), 32};
  for (const NpyArray* array : {&sentence.q, &sentence.k, &sentence.v}) {
    if (array->shape != expected || array->type != Type::float32) {
      throw std::logic_error("the sentence built into this command is not what it should be");
    }
  }
  return sentence;
}

}  // namespace lookback::cli
