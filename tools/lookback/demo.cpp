// `lookback demo`: attention as a story in three acts.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "acts.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "sentence.hpp"

namespace lookback::cli {
namespace {

struct DemoOptions {
  std::optional<int> act;
  SentenceChoice sentence;
};

void run_demo(const DemoOptions& options) {
  const Style style = Style::of_stdout();
  const auto wanted = [&](int act) { return options.act.value_or(act) == act; };
  // All of it is computed before any of it is printed: an error stands alone.
  std::string text;
  if (wanted(1)) text += act_one_row(style);
  if (wanted(2)) text += act_two_dictionary(style);
  if (wanted(3)) text += act_three_sentence(style, options.sentence);
  std::fputs((text + "\n").c_str(), stdout);
}

}  // namespace

void add_demo(CLI::App& app) {
  const auto options = std::make_shared<DemoOptions>();
  CLI::App* demo = app.add_subcommand("demo")->group("Commands");
  demo->description(
      "Attention as a story in three acts, on numbers computed now\n"
      "  1  one word scores five others, and softmax turns scores into weights\n"
      "  2  a look-up in a small dictionary, and the blend it gives\n"
      "  3  a real sentence in a real model, as a heat map: rows look at columns");
  demo->add_option("--act", options->act, "Show one act only, 1 to 3")
      ->check(is_whole_number(1, 3))
      ->type_name("N");
  demo->add_option("--layer", options->sentence.layer, "Act 3: layer of the model, 0 to 5")
      ->check(is_whole_number(0, Sentence::kLayers - 1))
      ->type_name("N")
      ->capture_default_str();
  demo->add_option("--head", options->sentence.head, "Act 3: head of that layer, 0 to 11")
      ->check(is_whole_number(0, Sentence::kHeads - 1))
      ->type_name("N")
      ->capture_default_str();
  demo->add_option("--temperature", options->sentence.temperature,
                   "Act 3: below 1 sharpens, above 1 flattens")
      ->check(is_number())
      ->type_name("T")
      ->capture_default_str();
  demo->add_flag("--causal", options->sentence.causal, "Act 3: let each word look backwards only");
  demo->footer(
      "Examples:\n"
      "  lookback demo\n"
      "  lookback demo --act 3 --layer 0 --head 2     every word looks at the one before it\n"
      "  lookback demo --act 3 --temperature 0.3 --causal\n"
      "Colour is used on a terminal, unless NO_COLOR is set.");
  demo->callback([options] { run_demo(*options); });
}

}  // namespace lookback::cli
