// Act 3: a real sentence in a real model, as an alignment heat map.
#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "acts.hpp"
#include "alignment.hpp"
#include "heat_map.hpp"
#include "page.hpp"
#include "sentence.hpp"
#include "text.hpp"
#include "words.hpp"

namespace lookback::cli {
namespace {

// One head of one layer, [n, d], of an array [layer, head, token, feature].
Tensor head_of(const NpyArray& array, std::int64_t layer, std::int64_t head) {
  const std::int64_t first = layer * array.stride[0] + head * array.stride[1];
  return {array.data + first * size_of(array.type),
          array.type,
          {1, 1, array.shape[2], array.shape[3]},
          {0, 0, array.stride[2], array.stride[3]}};
}

// "climbed  looks at  [CLS] 29 %, cat 25 %, dog 21 %"
std::string strongest_links(const Style& style, const std::vector<std::string>& tokens,
                            const Matrix& weights, std::size_t row) {
  constexpr std::ptrdiff_t kShown = 3;
  const auto i = static_cast<std::int64_t>(row);
  const auto weight = [&](std::size_t j) { return weights.at(i, static_cast<std::int64_t>(j)); };
  std::vector<std::size_t> order(tokens.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return weight(a) > weight(b); });

  std::string links;
  for (auto j = order.begin(); j != order.begin() + kShown; ++j) {
    if (weight(*j) < 0.005F) break;
    links += (links.empty() ? "" : ", ") + name_of_word(tokens, *j) + " " + percent(weight(*j));
  }
  return pad_left(tokens[row], 11) + style.dim("  looks at  ") + links + "\n";
}

// What the row of a word is for: its blend of the real values, which the next layer reads.
std::string context_of(const Style& style, const std::string& word, const Matrix& context,
                       std::size_t row) {
  constexpr std::int64_t kShown = 4;
  std::string numbers;
  for (std::int64_t feature = 0; feature < kShown; ++feature) {
    numbers += fixed(context.at(static_cast<std::int64_t>(row), feature), 3) + ", ";
  }
  return definition(style, "blend",
                    "with these weights the values v of all words become the context of \"" + word +
                        "\", " + std::to_string(context.columns) + " features that the rest of " +
                        "the model reads: (" + numbers + "...).");
}

std::string what_stands_out(const SentenceChoice& choice) {
  if (choice.temperature != 1.0 || choice.causal) return "";
  if (choice.layer == 5 && choice.head == 11) {
    return "This head finds who the sentence is about: nearly every word looks at the cat and the "
           "dog, and more at the cat, which does the climbing. Nobody told it to.";
  }
  if (choice.layer == 0 && choice.head == 2) {
    return "This head finds the word before: it has learned positions, not meanings.";
  }
  if (choice.layer == 1 && choice.head == 8) {
    return "This head finds the word after, and looks at [CLS] where that says little.";
  }
  return "";
}

std::string things_to_try(const Style& style) {
  constexpr std::array<std::pair<const char*, const char*>, 4> kTry = {{
      {"--layer 0 --head 2", "every word looks at the one before it"},
      {"--layer 1 --head 8", "most look at the one after it"},
      {"--temperature 0.3", "a sharper look; 3 for a vaguer one"},
      {"--causal", "backwards only, as in a model that writes"},
  }};
  std::string text;
  std::string lead = "  Try  ";
  for (const auto& [options, effect] : kTry) {
    text += lead + style.bold(pad_right(std::string("lookback demo --act 3 ") + options, 44)) +
            effect + "\n";
    lead = std::string(lead.size(), ' ');
  }
  return text;
}

std::string described(const SentenceChoice& choice) {
  return "layer " + std::to_string(choice.layer) + ", head " + std::to_string(choice.head) +
         ", T = " + shortest(choice.temperature) + (choice.causal ? ", causal" : "");
}

}  // namespace

std::string act_three_sentence(const Style& style, const SentenceChoice& choice) {
  const Sentence sentence = load_sentence();
  Options options;
  options.temperature = choice.temperature;
  options.causal = choice.causal;
  const Tensor q = head_of(sentence.q, choice.layer, choice.head);
  const Tensor k = head_of(sentence.k, choice.layer, choice.head);
  const Tensor v = head_of(sentence.v, choice.layer, choice.head);
  const Matrix weights = weights_of(q, k, options);
  const Matrix context = blend_of(q, k, v, options);
  const auto row_of = [&](const std::string& word) {
    const auto place = std::find(sentence.tokens.begin(), sentence.tokens.end(), word);
    return static_cast<std::size_t>(place - sentence.tokens.begin());
  };

  std::string text = heading(style, "ACT 3", "A real sentence, a real model");
  text += paragraph("\"" + sentence.text + "\"");
  text += paragraph(
      "Its 18 tokens as the sentence encoder all-MiniLM-L6-v2 sees them, in one of 6 x 12 heads: "
      "all queries against all keys at once. Each row is the weights of one word, 100 % in all: "
      "rows look at columns. [CLS] and [SEP] mark the ends; a head that has nothing to say about a "
      "word tends to look there.");
  text += "\n  " + style.accent(described(choice)) + "\n\n";
  text += heat_map(style, weights, sentence.tokens, sentence.tokens) + "\n";
  text += heat_map_legend(style) + "\n";
  for (const char* word : {"chased", "climbed", "tree"}) {
    text += strongest_links(style, sentence.tokens, weights, row_of(word));
  }
  text += "\n" + context_of(style, "climbed", context, row_of("climbed"));
  if (const std::string remark = what_stands_out(choice); !remark.empty()) {
    text += "\n" + paragraph(remark);
  }
  text += "\n" + things_to_try(style);
  return text + "\n  All heads as a page to play with:  " +
         style.bold("lookback align --sentence --html page.html --open") + "\n";
}

}  // namespace lookback::cli
