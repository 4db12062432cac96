// Act 1: one query, five keys, and what the temperature does to the weights.
#include <array>
#include <string>
#include <vector>

#include "acts.hpp"
#include "alignment.hpp"
#include "page.hpp"
#include "text.hpp"

namespace lookback::cli {
namespace {

const std::vector<std::string> kWords = {"the", "cat", "saw", "the", "bird"};
const std::vector<std::string> kFeatures = {"living", "doing", "in the sky", "a word"};
const Matrix kQuery(1, 4, {2, 2, 1, 1});
const Matrix kKeys(5, 4, {0, 0, 0, 1,    // the
                          2, 0, 0, 1,    // cat
                          0, 1, 0, 1,    // saw
                          0, 0, 0, 1,    // the
                          2, 0, 1, 1});  // bird
constexpr std::array<double, 3> kTemperatures = {1.0, 0.5, 2.0};

std::string vector_line(const std::string& name, const Matrix& vectors, std::int64_t row) {
  std::string line = "      " + pad_right(name, 10);
  for (std::int64_t feature = 0; feature < vectors.columns; ++feature) {
    line += pad_left(shortest(vectors.at(row, feature)),
                     kFeatures[static_cast<std::size_t>(feature)].size() + 3);
  }
  return line;
}

std::string vectors_table(const Style& style, const Matrix& scores) {
  std::string features = std::string(16, ' ');
  for (const std::string& feature : kFeatures) features += "   " + feature;
  std::string text = style.dim(features) + "\n";
  text += vector_line("q  saw", kQuery, 0) + "\n";
  for (std::int64_t j = 0; j < kKeys.rows; ++j) {
    text += vector_line("k  " + kWords[static_cast<std::size_t>(j)], kKeys, j) +
            "     q . k = " + style.bold(shortest(scores.at(0, j))) + "\n";
  }
  return text;
}

std::string weights_table(const Style& style, const Matrix& scores) {
  constexpr std::size_t kBar = 17;
  std::string titles = "      " + pad_right("word", 6) + pad_left("score", 6) + "   ";
  std::vector<Matrix> weights;
  for (const double temperature : kTemperatures) {
    Options options;
    options.scale = 1.0;
    options.temperature = temperature;
    weights.push_back(weights_of(kQuery.view(), kKeys.view(), options));
    titles += pad_right("T = " + shortest(temperature), kBar + 9);
  }
  titles.erase(titles.find_last_not_of(' ') + 1);
  std::string text = style.dim(titles) + "\n";
  for (std::int64_t j = 0; j < kKeys.rows; ++j) {
    text += "      " + pad_right(kWords[static_cast<std::size_t>(j)], 6) +
            pad_left(shortest(scores.at(0, j)), 6) + "   ";
    for (const Matrix& row : weights) {
      text += fixed(row.at(0, j), 3) + " " + bar(style, row.at(0, j), kBar) + "   ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text;
}

}  // namespace

std::string act_one_row(const Style& style) {
  const Matrix scores = scores_of(kQuery.view(), kKeys.view(), 1.0);
  std::string text = heading(style, "ACT 1", "One word looks back: score and softmax");
  text += paragraph(
      "\"the cat saw the bird\". To find out what it is about, the word \"saw\" asks a question, "
      "its "
      "query q; each word holds out an answer, its key k. Both are lists of features. A model "
      "learns them; these are made by hand.");
  text += "\n" + vectors_table(style, scores) + "\n";
  text += definition(style, "score",
                     "how well a key answers the query, s = q . k: multiply the two feature by "
                     "feature and add up.");
  text += definition(style, "softmax",
                     "makes the scores weights, positive and 1 in sum: w = exp(s / T) divided by "
                     "the sum of all exp(s / T). The temperature T is 1 unless one asks.");
  text += "\n" + weights_table(style, scores) + "\n";
  text += paragraph(
      "At T = 1 \"saw\" looks at the bird and a little at the cat. A low temperature lets the best "
      "answer take nearly all; a high one lets the others be heard.");
  return text;
}

}  // namespace lookback::cli
