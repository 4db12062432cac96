// The help of the options that `attend` and `align` share.
#include "engine_options.hpp"
#include "options.hpp"

namespace lookback::cli {
namespace {

void add_terms(CLI::App& command, EngineChoice& choice) {
  const char* group = "Scores";
  command.add_option("--scale", choice.scale, "Multiplies q, and so the scores; default 1/sqrt(d)")
      ->check(is_number())
      ->type_name("S")
      ->group(group);
  command.add_option("--temperature", choice.temperature, "Below 1 sharpens, above 1 flattens")
      ->check(is_number())
      ->type_name("T")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--softcap", choice.softcap, "Scores become C * tanh(score / C), never beyond C")
      ->check(is_number())
      ->type_name("C")
      ->group(group);
  command
      .add_option("--alibi", choice.alibi,
                  "A slope for each head: scores lose slope * distance. Numbers, as in\n"
                  "0.5,0.25, or a file of shape (heads,) or (batch, heads)")
      ->type_name("LIST")
      ->group(group);
  command
      .add_option("--bias", choice.bias,
                  "Added to the scores: (n_q, n_k) or more axes in front, an extent of 1\n"
                  "standing for all; -inf hides")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--sinks", choice.sinks,
                  "A score for each head that takes weight and has no value; as --alibi")
      ->type_name("LIST")
      ->group(group);
}

void add_visibility(CLI::App& command, EngineChoice& choice) {
  const char* group = "Which keys a row sees";
  command
      .add_option("--causal", choice.causal,
                  "Row i sees key j only if j <= i + offset. The offset is a number, or\n"
                  "top-left (0) or bottom-right (n_k - n_q)")
      ->type_name("WHERE")
      ->group(group);
  command
      .add_option("--position", choice.position,
                  "That offset for --window and --alibi, if nothing is causal")
      ->type_name("WHERE")
      ->group(group);
  command
      .add_option("--window", choice.window,
                  "Only so many keys to the left and to the right of its own; a side\n"
                  "left out, as in '512,', is open")
      ->type_name("L,R")
      ->group(group);
  command.add_option("--prefix", choice.prefix, "The first keys are seen whatever those two say")
      ->check(is_whole_number(0, INT64_MAX))
      ->type_name("N")
      ->group(group);
  command
      .add_option("--lengths", choice.lengths,
                  "How many keys each sequence of a batch has, (batch,) in int64; the\n"
                  "rest is padding")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--mask", choice.mask,
                  "Booleans, true for visible: (n_q, n_k) or more axes in front, an\n"
                  "extent of 1 standing for all")
      ->type_name("FILE")
      ->group(group);
}

}  // namespace

void add_engine_options(CLI::App& command, EngineChoice& choice) {
  add_terms(command, choice);
  add_visibility(command, choice);
  command.add_flag("--bf16", choice.bf16, "Files of uint16 are bfloat16, bit by bit");
  command.add_option("--threads", choice.threads, "At most this many threads; default all")
      ->check(is_whole_number(1, INT32_MAX))
      ->type_name("N");
}

void add_packed_options(CLI::App& command, EngineChoice& choice) {
  const char* group = "Packed sequences";
  CLI::Option* packed_q =
      command
          .add_option("--packed-q", choice.packed_q,
                      "q, k, v are all tokens of all sequences, (tokens, d) or\n"
                      "(tokens, H, d); sequence s is tokens bounds[s] to bounds[s + 1]. The\n"
                      "bounds, in int64, from 0 to the number of tokens")
          ->type_name("FILE")
          ->group(group);
  command
      .add_option("--packed-k", choice.packed_k,
                  "The bounds in k and v, if they are others than those in q")
      ->needs(packed_q)
      ->type_name("FILE")
      ->group(group);
}

}  // namespace lookback::cli
