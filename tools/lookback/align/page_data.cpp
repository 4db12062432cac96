#include "align/page_data.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>

#include "align/text_views.hpp"
#include "failure.hpp"

namespace lookback::cli {
namespace {

// A page of 6 MB, of which base64 takes a quarter, with room for words and the page itself.
constexpr std::int64_t kPageBytes = 4'200'000;
constexpr std::int64_t kWholeBytes = 2'400'000;

std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      three = three << 8 | (i + j < bytes.size() ? static_cast<std::uint32_t>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? kDigits[three >> (18 - 6 * j) & 63U] : '=';
    }
  }
  return text;
}

template <class T>
std::string base64_of(const std::vector<T>& numbers) {
  return base64(std::as_bytes(std::span(numbers)));
}

std::span<const std::byte> bytes_of(const View& view) {
  return {view.data(), static_cast<std::size_t>(elements_of(view.shape()) * size_of(view.type()))};
}

PageBlock scores_block(Task task, Progress& progress) {
  const auto [L, H, n_q, d] = task.q.extent;
  const Type real = task.q.type == Type::float64 ? Type::float64 : Type::float32;
  const View scores(real, {L, H, n_q, task.k.extent[2]});
  std::vector<std::int64_t> rows(static_cast<std::size_t>(n_q));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  Views views;
  views.rows = RowsView{rows, Stage::final, scores.tensor()};
  task.options.causal = false;
  task.options.progress = progress.next();
  call_align(task, views);
  return {"scores", base64(bytes_of(scores))};
}

// One sink per layer and head; null where there is none.
nlohmann::json sinks_of(const Task& task) {
  nlohmann::json list = nlohmann::json::array();
  const auto [L, H, n_q, d] = task.q.extent;
  for (std::int64_t place = 0; place < L * H; ++place) {
    const auto& sinks = *task.options.sinks;
    const double sink = sinks[static_cast<std::size_t>(place) % sinks.size()];
    list.push_back(std::isfinite(sink) ? nlohmann::json(sink) : nlohmann::json());
  }
  return list;
}

struct Budget {
  std::int64_t cells, top;
};

// The finest map and the most links that fit.
Budget choose(std::int64_t maps, std::int64_t n_q, std::int64_t n_k) {
  const std::int64_t link = n_k > 65535 ? 6 : 4;
  for (const std::int64_t top : {8, 6, 4, 2, 1}) {
    for (const std::int64_t cells : {256, 192, 128, 96, 64}) {
      const std::int64_t pooled = std::min(cells, n_q) * std::min(cells, n_k);
      if (maps * (pooled + n_q * (top * link + 4)) <= kPageBytes) return {cells, top};
    }
  }
  throw bad_usage("--html: " + std::to_string(maps) + " maps of " + std::to_string(n_q) +
                  " rows do not fit into one page; choose with --layer and --head");
}

template <class Index>
std::string keys_text(const View& keys) {
  std::vector<Index> indices;
  for (std::int64_t place = 0; place < elements_of(keys.shape()); ++place) {
    indices.push_back(static_cast<Index>(keys.integer_at(place)));  // -1 becomes the largest
  }
  return base64_of(indices);
}

std::vector<std::uint8_t> shades_of(const View& map, std::int64_t n_k) {
  const std::int64_t C = map.shape().back();
  std::vector<std::uint8_t> shades;
  for (std::int64_t place = 0; place < elements_of(map.shape()); ++place) {
    const double share = cell_share(map.at(place), n_k, C, place % C);
    const double level = 255 * std::sqrt(std::clamp(share, 0.0, 1.0));
    shades.push_back(std::isnan(share) ? std::uint8_t{0}
                                       : static_cast<std::uint8_t>(std::lround(level)));
  }
  return shades;
}

std::vector<std::uint16_t> sixteen_bits_of(const View& weights) {
  std::vector<std::uint16_t> rounded;
  for (std::int64_t place = 0; place < elements_of(weights.shape()); ++place) {
    const double weight = weights.at(place);
    rounded.push_back(std::isnan(weight) ? std::uint16_t{0}
                                         : static_cast<std::uint16_t>(std::lround(65535 * weight)));
  }
  return rounded;
}

void add_pooled(std::vector<PageBlock>& blocks, Task task, const Budget& budget, bool causal,
                Progress& progress) {
  const std::string form = causal ? "1" : "0";
  task.options.causal = causal;
  const ViewRequest request = {budget.top, budget.cells, {}};
  const std::int64_t n_k = task.k.extent[2];
  const std::vector<Table> tables = compute_views(std::move(task), request, {}, progress);
  const Table& links = table_named(tables, "links");
  const View& entropy = table_named(tables, "rows")["entropy"];
  std::vector<float> entropies;
  for (std::int64_t place = 0; place < elements_of(entropy.shape()); ++place) {
    entropies.push_back(static_cast<float>(entropy.at(place)));
  }
  blocks.push_back(
      {"cells" + form, base64_of(shades_of(table_named(tables, "map")["mean_weight"], n_k))});
  blocks.push_back({"keys" + form, n_k > 65535 ? keys_text<std::uint32_t>(links["key"])
                                               : keys_text<std::uint16_t>(links["key"])});
  blocks.push_back({"weights" + form, base64_of(sixteen_bits_of(links["weight"]))});
  blocks.push_back({"entropies" + form, base64_of(entropies)});
}

}  // namespace

bool fits_whole(const Source& source, const Selection& selection) {
  constexpr std::int64_t kSide = 1024;  // more words could not be drawn at once
  const std::int64_t n_q = source.rows();
  const std::int64_t n_k = source.keys();
  return std::max(n_q, n_k) <= kSide &&
         n_q * n_k * size_of(source.q.type) <= kWholeBytes / (selection.layers * selection.heads);
}

bool has_causal_form(const Source& source, const Options& options) {
  return options.position || source.rows() == source.keys();
}

std::vector<PageBlock> page_blocks(const Source& source, Task task, nlohmann::ordered_json& meta,
                                   Progress& progress) {
  const auto [L, H, n_q, d] = task.q.extent;
  const std::int64_t n_k = task.k.extent[2];
  std::vector<PageBlock> blocks;
  if (fits_whole(source, {0, L, 0, H})) {
    meta["scoreBytes"] = task.q.type == Type::float64 ? 8 : 4;
    if (task.options.sinks) meta["sinks"] = sinks_of(task);
    blocks.push_back(scores_block(std::move(task), progress));
    return blocks;
  }
  const bool has_causal = has_causal_form(source, task.options);
  const Budget budget = choose(L * H * (has_causal ? 2 : 1), n_q, n_k);
  meta["cells"] = {std::min(n_q, budget.cells), std::min(n_k, budget.cells)};
  meta["top"] = budget.top;
  add_pooled(blocks, task, budget, false, progress);
  if (has_causal) add_pooled(blocks, std::move(task), budget, true, progress);
  return blocks;
}

}  // namespace lookback::cli
