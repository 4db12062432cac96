// `lookback attend`: the engine on arrays in files.
#include "lookback/attend.hpp"

#include <memory>
#include <optional>
#include <string>

#include "arrays.hpp"
#include "commands.hpp"
#include "failure.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "report.hpp"
#include "terminal.hpp"

namespace lookback::cli {
namespace {

struct AttendOptions {
  std::string q, k, v, out;
  std::optional<std::string> lse;
  std::optional<double> scale;
  double temperature = 1.0;
  std::optional<std::string> causal;
  std::optional<int> threads;
};

Position position_of(const std::string& text) {
  if (text == "top-left") return Position::top_left();
  if (text == "bottom-right") return Position::bottom_right();
  if (const std::optional<std::int64_t> offset = whole_number(text)) return Position::at(*offset);
  throw bad_usage("--causal: '" + text +
                  "' is neither top-left nor bottom-right nor a whole number (the offset)");
}

Options engine_options(const AttendOptions& given) {
  Options options;
  options.scale = given.scale;
  options.temperature = given.temperature;
  if (given.causal) {
    options.causal = true;
    options.position = position_of(*given.causal);
  }
  options.threads = given.threads;
  return options;
}

// Returns the seconds it took.
double attend_timed(const Inputs& inputs, const Results& results, Options options) {
  ProgressBar bar;
  options.progress = [&bar](double fraction) {
    bar.show(fraction);
    return !interrupted();
  };
  const Stopwatch stopwatch;
  try {
    attend(inputs.q_tensor(), inputs.k_tensor(), inputs.v_tensor(), results.outputs(), options);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw_if_interrupted();
    throw;
  }
  return stopwatch.seconds();
}

void run_attend(const AttendOptions& given) {
  const Options options = engine_options(given);
  check_paths({given.q, given.k, given.v}, given.out, given.lse);
  const InterruptGuard guard;
  const Inputs inputs = read_inputs(given.q, given.k, given.v);
  const Results results = make_results(inputs, given.lse.has_value());
  const double seconds = attend_timed(inputs, results, options);
  write_results(results, given.out, given.lse);
  print_report(inputs, results, options.position, seconds);
}

}  // namespace

void add_attend(CLI::App& app) {
  const auto given = std::make_shared<AttendOptions>();
  CLI::App* attend = app.add_subcommand("attend")->group("Commands");
  attend->description(
      "Attention over arrays in .npy files: out = softmax(scale * q k^T / T) v\n"
      "\n"
      "All are float32 or all float64, and have one of these ranks:\n"
      "  q (n_q, d)        k (n_k, d)          v (n_k, d_v)          out (n_q, d_v)\n"
      "  q (H, n_q, d)     k (H_kv, n_k, d)    v (H_kv, n_k, d_v)    out (H, n_q, d_v)\n"
      "  q (B, H, n_q, d)  k (B, H_kv, n_k, d) and so on\n"
      "\n"
      "H is a multiple of H_kv: query heads in equal groups share a key-value head. lse has q's\n"
      "shape without the last axis. With --causal, row i sees key j only if j <= i + offset, and "
      "the\n"
      "offset is 0 (top-left), n_k - n_q (bottom-right) or the number given.");
  attend->add_option("--q", given->q, "Queries")->type_name("FILE")->required();
  attend->add_option("--k", given->k, "Keys")->type_name("FILE")->required();
  attend->add_option("--v", given->v, "Values")->type_name("FILE")->required();
  attend->add_option("--out", given->out, "Where the result goes")->type_name("FILE")->required();
  attend->add_option("--lse", given->lse, "Where the log-sum-exp of each row goes, if wanted")
      ->type_name("FILE");
  attend->add_option("--scale", given->scale, "Multiplies q, and so the scores; default 1/sqrt(d)")
      ->check(is_number())
      ->type_name("S");
  attend->add_option("--temperature", given->temperature, "Below 1 sharpens, above 1 flattens")
      ->check(is_number())
      ->type_name("T")
      ->capture_default_str();
  attend->add_option("--causal", given->causal, "top-left, bottom-right or a number; see above")
      ->type_name("WHERE");
  attend->add_option("--threads", given->threads, "At most this many threads; default all")
      ->check(is_whole_number(1, INT32_MAX))
      ->type_name("N");
  attend->footer(
      "Examples:\n"
      "  lookback attend --q q.npy --k k.npy --v v.npy --out out.npy\n"
      "  lookback attend --q q.npy --k k.npy --v v.npy --out out.npy --lse lse.npy --scale 1\n"
      "  lookback attend --q new.npy --k past.npy --v values.npy --out out.npy \\\n"
      "      --causal bottom-right --threads 4\n"
      "In Python, numpy.save('q.npy', q.astype('float32')) writes such a file.\n"
      "The result appears whole or not at all; Ctrl-C leaves what was there before.");
  attend->callback([given] { run_attend(*given); });
}

}  // namespace lookback::cli
