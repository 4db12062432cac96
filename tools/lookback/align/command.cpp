// `lookback align`: where each word looks, as text, pictures, files and a page.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "align/browser.hpp"
#include "align/picture.hpp"
#include "align/source.hpp"
#include "align/table_files.hpp"
#include "align/text_views.hpp"
#include "align/views.hpp"
#include "align/web_page.hpp"
#include "align/which_rows.hpp"
#include "arrays.hpp"
#include "commands.hpp"
#include "engine_options.hpp"
#include "failure.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "text.hpp"

namespace lookback::cli {
namespace {

struct AlignOptions {
  SourceChoice source;
  std::optional<std::int64_t> layer, head;
  std::optional<std::string> rows;
  std::int64_t top = 8;
  std::optional<std::string> out, png, csv, npy, json, html;
  bool open = false;
  EngineChoice engine;

  std::vector<std::string> inputs() const {
    std::vector<std::string> files = source.files();
    const std::vector<std::string> more = engine.files();
    files.insert(files.end(), more.begin(), more.end());
    return files;
  }
  bool json_to_stdout() const { return json == "-"; }
};

std::vector<NamedPath> outputs_of(const AlignOptions& given) {
  std::vector<NamedPath> files;
  const auto add = [&](const char* option, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) files.push_back({option, path});
  };
  if (given.out) add("--out", {*given.out});
  if (given.png) add("--png", {*given.png});
  if (given.html) add("--html", {*given.html});
  if (given.json && !given.json_to_stdout()) add("--json", {*given.json});
  const bool with_rows = given.rows.has_value();
  if (given.csv) add("--csv", csv_paths(*given.csv, table_names(with_rows)));
  if (given.npy) add("--npy", npy_paths(*given.npy, view_names(with_rows)));
  return files;
}

// The sentence has everything, files have what they are given.
void check_together(const AlignOptions& given) {
  const SourceChoice& source = given.source;
  const bool has_files =
      !source.q.empty() || !source.k.empty() || source.v || source.tokens || source.query_tokens;
  if (source.sentence && has_files) {
    throw bad_usage(
        "--sentence brings its own q, k, v and words; leave out --q, --k, --v and "
        "--tokens, or leave out --sentence");
  }
  if (!source.sentence && source.q.empty()) throw bad_usage("--q is required, or --sentence");
  if (!source.sentence && source.k.empty()) throw bad_usage("--k is required");
  if (given.out && !source.v && !source.sentence) throw bad_usage("--out needs the values, --v");
  if (source.v && !given.out) throw bad_usage("--v is for the context, which --out must name");
  if (given.open && !given.html) throw bad_usage("--open opens the page that --html must name");
}

// Where the demo shows its head, and else the first.
Shown shown_of(const AlignOptions& given) {
  constexpr Shown kTelling = {5, 11};  // nearly every word looks at the two that act
  if (!given.source.sentence) return {};
  return {given.layer ? 0 : kTelling.layer, given.head ? 0 : kTelling.head};
}

struct Context {
  View view;
  std::vector<std::int64_t> shape;  // as the file has it, with q's rank
};

std::optional<Context> context_for(const AlignOptions& given, const Source& source,
                                   const Task& task) {
  if (!given.out) return std::nullopt;
  const auto [L, H, n_q, d] = task.q.extent;
  const std::int64_t d_v = task.v->extent[3];
  std::vector<std::int64_t> shape = {L, H, n_q, d_v};
  shape.erase(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(source.q.shape.size()));
  return Context{View(task.q.type, {L, H, n_q, d_v}), shape};
}

// Everything that is known when something is written or shown.
struct Alignment {
  const AlignOptions& given;
  const Source& source;
  const Selection& selection;
  const std::vector<Table>& tables;
  const std::vector<std::int64_t>& rows;
  Shown shown;
  EngineOptions& engine;

  Selection shown_alone() const {
    return {selection.first_layer + shown.layer, 1, selection.first_head + shown.head, 1};
  }
  TextViews text_views() const { return {source, selection, tables, shown, rows}; }
  std::string title() const {
    const Options& options = engine.options;
    return name_of_shown(text_views()) + ", T = " + shortest(options.temperature) +
           (options.causal ? ", causal" : "");
  }
};

bool is_short(const Source& source) {
  return std::max(source.rows(), source.keys()) <= kShortText;
}

std::vector<std::byte> picture_of(const Alignment& results, Progress& progress) {
  constexpr std::int64_t kCells = 256;
  const Task task = select_task(results.source, results.engine, results.shown_alone());
  const View map = compute_map(task, kCells, kCells, progress);
  const std::int64_t R = map.shape()[2];
  const std::int64_t C = map.shape()[3];
  std::vector<double> shares;
  for (std::int64_t place = 0; place < R * C; ++place) {
    shares.push_back(cell_share(map.at(place), results.source.keys(), C, place % C));
  }
  return draw_map({static_cast<int>(R), static_cast<int>(C), std::move(shares),
                   results.source.query_words, results.source.key_words, results.title()});
}

std::string text_of(const Alignment& results, Progress& progress) {
  const Style style = Style::of_stdout();
  const TextViews views = results.text_views();
  const Source& source = results.source;
  std::string text =
      "\n  " + style.bold(source.text) + (source.text.empty() ? "" : "\n  ") +
      style.accent(results.title()) +
      style.dim(": " + count(source.rows(), "row") + " look at " + count(source.keys(), "key")) +
      "\n\n";
  if (is_short(source)) {
    text += short_map(style, views);
  } else {
    const Task task = select_task(source, results.engine, results.shown_alone());
    text += long_map(style, views, compute_map(task, 32, 72, progress));
  }
  return text + strongest_links(style, views) + chosen_rows(style, views) +
         entropy_table(style, views);
}

void write_files(OutputFiles& files, const Alignment& results,
                 const std::optional<Context>& context, Progress& progress) {
  const AlignOptions& given = results.given;
  const TableNames names = {results.source, results.selection, results.rows};
  const auto write = [&](const std::string& path, std::span<const std::byte> bytes) {
    files.add(path).write(bytes);
  };
  if (context) {
    write_npy(files.add(*given.out), context->view.type(), context->shape, context->view.data());
  }
  if (given.csv) write_csv(files, *given.csv, results.tables, names);
  if (given.npy) write_npy_views(files, *given.npy, results.tables);
  if (given.png) write(*given.png, picture_of(results, progress));
  if (given.json && !given.json_to_stdout()) {
    const std::string text = json_text(results.tables, names, results.engine.options);
    write(*given.json, std::as_bytes(std::span(text)));
  }
  if (given.html) {
    const std::string page =
        web_page(results.source, results.engine, results.selection, results.shown, progress);
    write(*given.html, std::as_bytes(std::span(page)));
  }
}

int engine_calls(const AlignOptions& given, const Source& source, const EngineOptions& engine,
                 const Selection& selection) {
  return 1 + (given.png ? 1 : 0) + (is_short(source) || given.json_to_stdout() ? 0 : 1) +
         (given.html ? web_page_calls(source, engine, selection) : 0);
}

// Does all the work, and returns what is to be printed once the files are there.
std::string look(const AlignOptions& given, EngineOptions& engine, OutputFiles& files) {
  const Source source = load_source(given.source, given.engine.elements());
  load_engine_options(given.engine, engine);
  const Selection selection = select(source, given.layer, given.head);
  ViewRequest request;
  request.top = given.top;
  if (given.rows) request.rows = which_rows(*given.rows, source.query_words, source.has_words);

  Progress progress(engine_calls(given, source, engine, selection));
  const Task task = select_task(source, engine, selection);
  const std::optional<Context> context = context_for(given, source, task);
  const auto out = context ? std::optional(context->view.tensor()) : std::nullopt;
  const std::vector<Table> tables = compute_views(task, request, out, progress);
  const Alignment results = {given,        source,          selection, tables,
                             request.rows, shown_of(given), engine};
  write_files(files, results, context, progress);
  if (given.json_to_stdout()) {
    return json_text(tables, {source, selection, request.rows}, engine.options);
  }
  std::string text = text_of(results, progress);
  for (const NamedPath& output : outputs_of(given)) text += "\n  wrote " + output.path;
  return text + "\n";
}

void run_align(const AlignOptions& given) {
  check_together(given);
  EngineOptions engine = parse_engine_options(given.engine);
  check_paths(given.inputs(), outputs_of(given));
  const InterruptGuard guard;
  OutputFiles files;
  const std::string text = look(given, engine, files);
  files.commit();
  std::fputs(text.c_str(), stdout);
  if (given.open && !open_in_browser(*given.html)) {
    throw Failure(kExitFailed, "the page is written, but there is nothing to open it with; open " +
                                   *given.html + " in a browser");
  }
}

void add_inputs(CLI::App& align, AlignOptions& given) {
  align.add_option("--q", given.source.q, "Queries")->type_name("FILE");
  align.add_option("--k", given.source.k, "Keys")->type_name("FILE");
  align.add_option("--v", given.source.v, "Values, if --out wants the context too")
      ->type_name("FILE");
  align
      .add_option("--tokens", given.source.tokens,
                  "The words of the keys, and of the rows if as many: a .json list, or\n"
                  "text with blanks between words")
      ->type_name("FILE");
  align.add_option("--query-tokens", given.source.query_tokens, "The words of the rows, if others")
      ->type_name("FILE");
  align.add_flag("--sentence", given.source.sentence,
                 "Instead of files, the sentence of 'lookback demo', in 6 x 12 heads");
  align.add_option("--layer", given.layer, "Only this layer; default all, showing the first")
      ->check(is_whole_number(0, INT64_MAX))
      ->type_name("N");
  align.add_option("--head", given.head, "Only this head; likewise")
      ->check(is_whole_number(0, INT64_MAX))
      ->type_name("N");
  align
      .add_option("--rows", given.rows,
                  "Rows to give in full: numbers, ranges, words, as in 3,8-11,climbed")
      ->type_name("LIST");
  align.add_option("--top", given.top, "The heaviest keys of each row, so many")
      ->check(is_whole_number(1, 64))
      ->type_name("N")
      ->capture_default_str();
}

void add_outputs(CLI::App& align, AlignOptions& given) {
  const char* group = "Results";
  const auto add = [&](const char* name, std::optional<std::string>& place, const char* help,
                       const char* type = "FILE") {
    align.add_option(name, place, help)->type_name(type)->group(group);
  };
  add("--html", given.html, "A page to play with, in one file: every head, every word");
  align.add_flag("--open", given.open, "Opens that page in the browser")->group(group);
  add("--png", given.png, "The map of the head that is shown, as a picture");
  add("--json", given.json, "Every view in one file; - for standard output");
  add("--csv", given.csv, "Tables: PREFIX-links.csv, -rows, -keys, -map and -distances", "PREFIX");
  add("--npy", given.npy, "Arrays (layers, heads, ...): PREFIX-entropy.npy and so on", "PREFIX");
  add("--out", given.out, "The context, as of 'lookback attend'");
}

}  // namespace

void add_align(CLI::App& app) {
  const auto given = std::make_shared<AlignOptions>();
  CLI::App* align = app.add_subcommand("align")->group("Commands");
  align->description(
      "Where each word looked: the alignment matrix without the matrix\n"
      "\n"
      "Row i of the matrix holds the weights softmax(scale * q_i k^T / T): how much word i looks "
      "at\n"
      "each word, 1 in all. It is never stored; what is shown of it is exact, for any length.\n"
      "  map        every weight of a short text; of a long one its average over cells\n"
      "  links      the heaviest keys of each row: climbed -> cat 0.31\n"
      "  entropy    in nats: 0 where a row looks at one key, ln n where at n keys alike\n"
      "  position   where a row looks on average; distance: how far away that is\n"
      "  received   what a key gets from all rows; lse: the log-sum-exp of a row\n"
      "  distances  the weight, summed over rows, that goes so many places away\n"
      "\n"
      "q is (n_q, d), (heads, n_q, d) or (layers, heads, n_q, d); a batch may stand for the "
      "layers.\n"
      "k likewise; query heads in equal groups may share a key head.");
  add_inputs(*align, *given);
  add_outputs(*align, *given);
  add_engine_options(*align, given->engine);
  align->footer(
      "Examples:\n"
      "  lookback align --sentence\n"
      "  lookback align --sentence --html page.html --open\n"
      "  lookback align --sentence --layer 0 --head 2 --rows climbed,chased --png map.png\n"
      "  lookback align --q q.npy --k k.npy --tokens words.json --causal top-left --json all.json\n"
      "Files appear whole or not at all; Ctrl-C leaves what was there before.");
  align->callback([given] { run_align(*given); });
}

}  // namespace lookback::cli
