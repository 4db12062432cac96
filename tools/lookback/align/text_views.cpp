#include "align/text_views.hpp"

#include <algorithm>
#include <cmath>

#include "alignment.hpp"
#include "heat_map.hpp"
#include "page.hpp"
#include "text.hpp"
#include "words.hpp"

namespace lookback::cli {
namespace {

constexpr std::size_t kLongestWord = 16;

// Where the shown head's part of a view starts, of so many elements a head.
std::int64_t start_of(const TextViews& views, std::int64_t per_head) {
  return (views.shown.layer * views.selection.heads + views.shown.head) * per_head;
}

std::vector<std::string> labels_of(const std::vector<std::string>& words) {
  std::vector<std::string> labels;
  for (const std::string& word : words) labels.push_back(label_of(word, kLongestWord));
  return labels;
}

std::string name_of(const std::vector<std::string>& words, std::int64_t place) {
  return label_of(name_of_word(words, static_cast<std::size_t>(place)), kLongestWord + 8);
}

std::string title(const Style& style, const std::string& text) {
  return "\n  " + style.bold(text) + "\n";
}

// Numbers along the top of the map, each over the first key of its cell.
std::string key_axis(std::int64_t n_k, std::int64_t cells) {
  std::string line;
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    if (static_cast<std::int64_t>(line.size()) > cell || cell % 12 != 0) continue;
    line.resize(static_cast<std::size_t>(cell), ' ');
    line += "|" + std::to_string(cell * n_k / cells);
  }
  return line;
}

struct Link {
  std::int64_t row, key;
  double weight;
};

std::vector<Link> heaviest_links(const TextViews& views, std::size_t wanted) {
  const Table& links = table_named(views.tables, "links");
  const std::int64_t n_q = views.source.rows();
  const std::int64_t top = links["key"].shape().back();
  const std::int64_t start = start_of(views, n_q * top);
  std::vector<Link> all;
  for (std::int64_t place = 0; place < n_q * top; ++place) {
    const std::int64_t key = links["key"].integer_at(start + place);
    const double weight = links["weight"].at(start + place);
    // A weight that is not a number has no place in an order.
    if (key >= 0 && weight > 0) all.push_back({place / top, key, weight});
  }
  const std::size_t shown = std::min(wanted, all.size());
  std::stable_sort(all.begin(), all.end(),
                   [](const Link& a, const Link& b) { return a.weight > b.weight; });
  all.resize(shown);
  return all;
}

double mean_entropy(const Table& rows, std::int64_t head, std::int64_t n_q) {
  double sum = 0;
  for (std::int64_t i = 0; i < n_q; ++i) sum += rows["entropy"].at(head * n_q + i);
  return sum / static_cast<double>(n_q);
}

}  // namespace

double cell_share(double mean_weight, std::int64_t n_k, std::int64_t cells, std::int64_t cell) {
  const std::int64_t keys = (cell + 1) * n_k / cells - cell * n_k / cells;
  return mean_weight * static_cast<double>(keys);
}

std::string name_of_shown(const TextViews& views) {
  const auto [first_layer, layers, first_head, heads] = views.selection;
  return "layer " + std::to_string(first_layer + views.shown.layer) + ", head " +
         std::to_string(first_head + views.shown.head) + " of " +
         std::to_string(views.source.layers()) + " x " + std::to_string(views.source.heads());
}

std::string short_map(const Style& style, const TextViews& views) {
  const View& map = table_named(views.tables, "map")["mean_weight"];
  const std::int64_t n_q = views.source.rows();
  const std::int64_t n_k = views.source.keys();
  Matrix weights(n_q, n_k);
  for (std::int64_t place = 0; place < n_q * n_k; ++place) {
    weights.values[static_cast<std::size_t>(place)] =
        static_cast<float>(map.at(start_of(views, n_q * n_k) + place));
  }
  return heat_map(style, weights, labels_of(views.source.query_words),
                  labels_of(views.source.key_words)) +
         "\n" + heat_map_legend(style);
}

std::string long_map(const Style& style, const TextViews& views, const View& map) {
  constexpr std::size_t kAxis = 22;
  const std::int64_t n_q = views.source.rows();
  const std::int64_t n_k = views.source.keys();
  const std::int64_t R = map.shape()[2];
  const std::int64_t C = map.shape()[3];
  std::string text = std::string(kAxis + 1, ' ') + style.dim(key_axis(n_k, C)) + "\n";
  for (std::int64_t r = 0; r < R; ++r) {
    const std::int64_t first = r * n_q / R;
    std::string label = std::to_string(first);
    if (views.source.has_words) {
      label = label_of(views.source.query_words[static_cast<std::size_t>(first)], 14) + " " + label;
    }
    text += style.dim(pad_left(label, kAxis - 2) + " - ");
    for (std::int64_t c = 0; c < C; ++c) {
      text += shade_cell(style, cell_share(map.at(r * C + c), n_k, C, c));
    }
    text += "\n";
  }
  text +=
      paragraph("Each line stands for up to " + count((n_q + R - 1) / R, "row") +
                " from the one named, each column for up to " + count((n_k + C - 1) / C, "key") +
                "; the shade is the share of the rows' weight that goes to the keys.");
  return text + "\n" + heat_map_legend(style);
}

std::string strongest_links(const Style& style, const TextViews& views) {
  constexpr std::size_t kShown = 10;
  std::string text = title(style, "Strongest links");
  for (const Link& link : heaviest_links(views, kShown)) {
    text += pad_left(name_of(views.source.query_words, link.row), 20) + style.dim(" -> ") +
            pad_right(name_of(views.source.key_words, link.key), 18) + " " + fixed(link.weight, 2) +
            " " + bar(style, link.weight, 25);
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text;
}

std::string chosen_rows(const Style& style, const TextViews& views) {
  if (views.rows.empty()) return "";
  const Table& links = table_named(views.tables, "links");
  const std::int64_t top = links["key"].shape().back();
  const std::int64_t start = start_of(views, views.source.rows() * top);
  std::string text = title(style, "Rows asked for");
  for (const std::int64_t row : views.rows) {
    std::string line;
    for (std::int64_t rank = 0; rank < top; ++rank) {
      const std::int64_t key = links["key"].integer_at(start + row * top + rank);
      const double weight = links["weight"].at(start + row * top + rank);
      if (key < 0 || weight < 0.005) continue;
      line += (line.empty() ? "" : ", ") + name_of(views.source.key_words, key) + " " +
              fixed(weight, 2);
    }
    text += pad_left(name_of(views.source.query_words, row), 20) + style.dim("  looks at  ") +
            (line.empty() ? "no key with half a percent" : line) + "\n";
  }
  return text;
}

std::string entropy_table(const Style& style, const TextViews& views) {
  constexpr std::int64_t kColumns = 12;
  const Table& rows = table_named(views.tables, "rows");
  const std::int64_t n_q = views.source.rows();
  const auto [first_layer, layers, first_head, heads] = views.selection;
  std::string text = title(style, "Entropy of each head, in nats, the mean over its rows") +
                     paragraph("0: every row looks at one key; " +
                               fixed(std::log(static_cast<double>(views.source.keys())), 2) +
                               ": at all keys alike.");
  for (std::int64_t from = 0; from < heads; from += kColumns) {
    const std::int64_t to = std::min(heads, from + kColumns);
    std::string titles = pad_right("    head", 12);
    for (std::int64_t h = from; h < to; ++h) titles += pad_left(std::to_string(first_head + h), 6);
    text += style.dim(titles) + "\n";
    for (std::int64_t l = 0; l < layers; ++l) {
      text += style.dim(pad_right("    layer " + std::to_string(first_layer + l), 12));
      for (std::int64_t h = from; h < to; ++h) {
        const std::string number = pad_left(fixed(mean_entropy(rows, l * heads + h, n_q), 2), 6);
        text += l == views.shown.layer && h == views.shown.head ? style.accent(number) : number;
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace lookback::cli
