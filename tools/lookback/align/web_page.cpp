#include "align/web_page.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "align/page_data.hpp"
#include "embed.hpp"

asm(R"(
  .pushsection .rodata
  lookback_embed lookback_page_html, page.html
  lookback_embed lookback_page_css, page.css
  lookback_embed lookback_page_data_js, data.js
  lookback_embed lookback_page_shades_js, shades.js
  lookback_embed lookback_page_words_js, words.js
  lookback_embed lookback_page_flow_js, flow.js
  lookback_embed lookback_page_matrix_js, matrix.js
  lookback_embed lookback_page_map_js, map.js
  lookback_embed lookback_page_main_js, main.js
  .popsection
)");

#pragma GCC visibility push(hidden)
extern "C" {
extern const std::byte lookback_page_html_begin[], lookback_page_html_end[];
extern const std::byte lookback_page_css_begin[], lookback_page_css_end[];
extern const std::byte lookback_page_data_js_begin[], lookback_page_data_js_end[];
extern const std::byte lookback_page_shades_js_begin[], lookback_page_shades_js_end[];
extern const std::byte lookback_page_words_js_begin[], lookback_page_words_js_end[];
extern const std::byte lookback_page_flow_js_begin[], lookback_page_flow_js_end[];
extern const std::byte lookback_page_matrix_js_begin[], lookback_page_matrix_js_end[];
extern const std::byte lookback_page_map_js_begin[], lookback_page_map_js_end[];
extern const std::byte lookback_page_main_js_begin[], lookback_page_main_js_end[];
}
#pragma GCC visibility pop

namespace lookback::cli {
namespace {

std::string_view text_of(const std::byte* begin, const std::byte* end) {
  return {static_cast<const char*>(static_cast<const void*>(begin)),
          static_cast<std::size_t>(end - begin)};
}

std::string scripts() {
  std::string text;
  text += text_of(lookback_page_data_js_begin, lookback_page_data_js_end);
  text += text_of(lookback_page_shades_js_begin, lookback_page_shades_js_end);
  text += text_of(lookback_page_words_js_begin, lookback_page_words_js_end);
  text += text_of(lookback_page_flow_js_begin, lookback_page_flow_js_end);
  text += text_of(lookback_page_matrix_js_begin, lookback_page_matrix_js_end);
  text += text_of(lookback_page_map_js_begin, lookback_page_map_js_end);
  text += text_of(lookback_page_main_js_begin, lookback_page_main_js_end);
  return text;
}

// JSON that may stand inside <script>: "</script>" or "<!--" in a word must not end it.
std::string safe_in_script(const nlohmann::ordered_json& json) {
  const std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string safe;
  for (const char c : text) safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return safe;
}

std::string data_block(const std::string& id, const std::string& content) {
  return "<script type=\"text/plain\" id=\"" + id + "\">" + content + "</script>\n";
}

void replace(std::string& text, const std::string& mark, const std::string& with) {
  const std::size_t place = text.find(mark);
  if (place == std::string::npos) throw std::logic_error("the page lacks its mark " + mark);
  text.replace(place, mark.size(), with);
}

nlohmann::ordered_json describe(const Source& source, const Options& options,
                                const Selection& selection, const Shown& shown) {
  nlohmann::ordered_json meta;
  meta["text"] = source.text;
  meta["named"] = source.has_words;
  meta["rowWords"] = source.query_words;
  meta["keyWords"] = source.key_words;
  meta["firstLayer"] = selection.first_layer;
  meta["layers"] = selection.layers;
  meta["firstHead"] = selection.first_head;
  meta["heads"] = selection.heads;
  meta["shown"] = {shown.layer, shown.head};
  meta["temperature"] = options.temperature;
  meta["causal"] = options.causal;
  meta["prefix"] = options.prefix.value_or(0);
  if (has_causal_form(source, options)) {
    meta["offset"] = options.position ? options.position->offset(0, source.rows(), source.keys())
                                      : std::int64_t{0};
  }
  return meta;
}

}  // namespace

std::string web_page(const Source& source, EngineOptions& engine, const Selection& selection,
                     const Shown& shown, Progress& progress) {
  const Task task = select_task(source, engine, selection);
  nlohmann::ordered_json meta = describe(source, task.options, selection, shown);
  const std::vector<PageBlock> blocks = page_blocks(source, task, meta, progress);
  std::string data = data_block("meta", safe_in_script(meta));
  for (const PageBlock& block : blocks) data += data_block(block.id, block.base64);

  std::string page(text_of(lookback_page_html_begin, lookback_page_html_end));
  replace(page, "/* page.css */",
          std::string(text_of(lookback_page_css_begin, lookback_page_css_end)));
  replace(page, "/* scripts */", scripts());
  replace(page, "<!-- data -->", data);
  return page;
}

int web_page_calls(const Source& source, const EngineOptions& engine, const Selection& selection) {
  if (fits_whole(source, selection)) return 1;
  return has_causal_form(source, engine.options) ? 2 : 1;
}

}  // namespace lookback::cli
