// Act 2: a look-up in a small dictionary, where queries, keys and values are different things.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "acts.hpp"
#include "alignment.hpp"
#include "page.hpp"
#include "text.hpp"

namespace lookback::cli {
namespace {

// Queries and keys are French: features "where", "being", "alive", "an object".
const std::vector<std::string> kFrench = {"chat", "est", "sous", "la", "table"};
const Matrix kQuery(1, 4, {1.5F, 0.2F, 0.1F, 0});
const Matrix kKeys(5, 4, {0, 0,    1, 0,    // chat: 0.1
                          0, 1,    0, 0,    // est: 0.2
                          1, 0,    0, 0,    // sous: 1.5
                          0, 0.5F, 0, 0,    // la: 0.1
                          0, 0,    0, 1});  // table: 0

// Values are English, with features of their own.
const std::vector<std::string> kEnglish = {"cat", "is", "under", "the", "table"};
const std::vector<std::string> kFeatures = {"thing", "alive", "being", "where", "naming"};
const Matrix kValues(5, 5, {1, 1, 0, 0, 0,    // cat
                            0, 0, 1, 0, 0,    // is
                            0, 0, 0, 1, 0,    // under
                            0, 0, 0, 0, 1,    // the
                            1, 0, 0, 0, 0});  // table

double dot(const Matrix& a, std::int64_t row_a, const Matrix& b, std::int64_t row_b) {
  double sum = 0;
  for (std::int64_t f = 0; f < a.columns; ++f) {
    sum += static_cast<double>(a.at(row_a, f)) * static_cast<double>(b.at(row_b, f));
  }
  return sum;
}

double cosine(const Matrix& a, std::int64_t row_a, const Matrix& b, std::int64_t row_b) {
  return dot(a, row_a, b, row_b) / std::sqrt(dot(a, row_a, a, row_a) * dot(b, row_b, b, row_b));
}

std::string features_of(const Matrix& vectors, std::int64_t row, int decimals) {
  std::string text;
  for (std::int64_t f = 0; f < vectors.columns; ++f) {
    const std::string number = fixed(vectors.at(row, f), decimals);
    text += pad_left(number, kFeatures[static_cast<std::size_t>(f)].size() + 2);
  }
  return text;
}

std::string table(const Style& style, const Matrix& scores, const Matrix& weights,
                  const Matrix& blend) {
  constexpr std::size_t kBar = 18;
  std::string titles = "      " + pad_right("key", 7) + "score   " + pad_right("weight", 8 + kBar) +
                       pad_right("value", 8);
  for (const std::string& feature : kFeatures) titles += "  " + feature;
  std::string text = style.dim(titles) + "\n";
  for (std::int64_t j = 0; j < weights.columns; ++j) {
    const auto word = static_cast<std::size_t>(j);
    text += "      " + pad_right(kFrench[word], 7) + pad_left(fixed(scores.at(0, j), 1), 5) +
            "   " + fixed(weights.at(0, j), 3) + " " + bar(style, weights.at(0, j), kBar) + "  " +
            pad_right(kEnglish[word], 8) + features_of(kValues, j, 0) + "\n";
  }
  text += pad_left("blend", 26 + kBar + 8) + "   " + style.bold(features_of(blend, 0, 3)) + "\n";
  return text;
}

std::string sum_of_words(const Matrix& weights) {
  std::string text;
  for (std::int64_t j = 0; j < weights.columns; ++j) {
    text += (j > 0 ? " + " : "") + fixed(weights.at(0, j), 3) + " " +
            kEnglish[static_cast<std::size_t>(j)];
  }
  return text;
}

std::string nearest_words(const Matrix& blend) {
  std::vector<std::int64_t> order(kEnglish.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return cosine(blend, 0, kValues, a) > cosine(blend, 0, kValues, b);
  });
  const auto named = [&](std::size_t place) {
    return "\"" + kEnglish[static_cast<std::size_t>(order[place])] + "\" (cosine " +
           fixed(cosine(blend, 0, kValues, order[place]), 2) + ")";
  };
  return "The blend lies nearest to " + named(0) + "; next comes " + named(1) + ".";
}

}  // namespace

std::string act_two_dictionary(const Style& style) {
  Options options;
  options.scale = 1.0;
  const Matrix scores = scores_of(kQuery.view(), kKeys.view(), 1.0);
  const Matrix weights = weights_of(kQuery.view(), kKeys.view(), options);
  const Matrix blend = blend_of(kQuery.view(), kKeys.view(), kValues.view(), options);

  std::string text = heading(style, "ACT 2", "A soft dictionary: the blend");
  text += paragraph(
      "Look up the French \"sous\" among the keys chat, est, sous, la, table, behind which stand "
      "the "
      "English values cat, is, under, the, table. A dictionary gives one value; attention gives "
      "some of each. Query from one text, keys and values from another: a cross-attention.");
  text += "\n" + table(style, scores, weights, blend) + "\n";
  text +=
      definition(style, "blend",
                 "the sum of the values, each times its weight: " + sum_of_words(weights) + ".");
  text += paragraph(nearest_words(blend));
  return text;
}

}  // namespace lookback::cli
