// `lookback attend`: the engine on arrays in files.
#include "lookback/attend.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "commands.hpp"
#include "engine_options.hpp"
#include "failure.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "report.hpp"
#include "terminal.hpp"

namespace lookback::cli {
namespace {

struct AttendOptions {
  std::string q, k, v, out;
  std::optional<std::string> lse, dtype;
  EngineChoice engine;

  std::vector<std::string> inputs() const {
    std::vector<std::string> files = engine.files();
    files.insert(files.end(), {q, k, v});
    return files;
  }
  std::vector<NamedPath> outputs() const {
    std::vector<NamedPath> files = {{"--out", out}};
    if (lse) files.push_back({"--lse", *lse});
    return files;
  }
};

constexpr std::array kOutTypes = {Type::float32, Type::float64, Type::bfloat16, Type::float16};

std::optional<Type> out_type(const std::optional<std::string>& dtype) {
  if (!dtype) return std::nullopt;
  for (const Type type : kOutTypes) {
    if (*dtype == name_of(type)) return type;
  }
  throw bad_usage("--dtype: '" + *dtype +
                  "' is not float32, float64, float16 or bfloat16 (bit by bit in uint16)");
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
  EngineOptions engine = parse_engine_options(given.engine);
  const std::optional<Type> type = out_type(given.dtype);
  check_paths(given.inputs(), given.outputs());
  const InterruptGuard guard;
  const Inputs inputs =
      read_inputs({given.q, given.k, given.v}, given.engine.elements(), given.engine.packed());
  load_engine_options(given.engine, engine);
  const Results results = make_results(inputs, type, given.lse.has_value());
  const double seconds = attend_timed(inputs, results, engine.options);
  write_results(results, given.out, given.lse);
  print_report(inputs, results, engine.options, seconds);
}

}  // namespace

void add_attend(CLI::App& app) {
  const auto given = std::make_shared<AttendOptions>();
  CLI::App* attend = app.add_subcommand("attend")->group("Commands");
  attend->description(
      "Attention over arrays in .npy files: out = softmax(scale * q k^T / T) v\n"
      "\n"
      "All are float64, or each is float32, float16 or (with --bf16) bfloat16. One rank for all:\n"
      "  q (n_q, d)        k (n_k, d)          v (n_k, d_v)          out (n_q, d_v)\n"
      "  q (H, n_q, d)     k (H_kv, n_k, d)    v (H_kv, n_k, d_v)    out (H, n_q, d_v)\n"
      "  q (B, H, n_q, d)  k (B, H_kv, n_k, d) and so on\n"
      "\n"
      "H is a multiple of H_kv: query heads in equal groups share a key-value head. lse has q's\n"
      "shape without the last axis.");
  attend->add_option("--q", given->q, "Queries")->type_name("FILE")->required();
  attend->add_option("--k", given->k, "Keys")->type_name("FILE")->required();
  attend->add_option("--v", given->v, "Values")->type_name("FILE")->required();
  attend->add_option("--out", given->out, "Where the result goes")->type_name("FILE")->required();
  attend->add_option("--lse", given->lse, "Where the log-sum-exp of each row goes, if wanted")
      ->type_name("FILE");
  attend
      ->add_option("--dtype", given->dtype,
                   "Of the result: float32, float64, float16 or bfloat16 (in uint16); default\n"
                   "q's. It is computed in float32, from float64 in float64")
      ->type_name("TYPE");
  add_engine_options(*attend, given->engine);
  add_packed_options(*attend, given->engine);
  attend->footer(
      "Examples:\n"
      "  lookback attend --q q.npy --k k.npy --v v.npy --out out.npy\n"
      "  lookback attend --q q.npy --k k.npy --v v.npy --out out.npy --lse lse.npy --scale 1\n"
      "  lookback attend --q new.npy --k past.npy --v values.npy --out out.npy \\\n"
      "      --causal bottom-right --window 512,0 --threads 4\n"
      "In Python, numpy.save('q.npy', q.astype('float32')) writes such a file.\n"
      "The result appears whole or not at all; Ctrl-C leaves what was there before.");
  attend->callback([given] { run_attend(*given); });
}

}  // namespace lookback::cli
