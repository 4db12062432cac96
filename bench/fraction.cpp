// lookback_fraction: how near the machine's limits one shape, or the standard list, comes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "beside.hpp"

namespace lookback::bench {
namespace {

struct Request {
  std::vector<Shape> shapes;
  std::vector<int> threads;
  int turns = kTurns;
};

std::vector<Shape> standard_shapes() {
  std::vector<Shape> shapes;
  for (const std::int64_t n : {512, 2048, 8192}) {
    for (const std::int64_t d : {32, 64, 128}) shapes.push_back({.n_q = n, .n_k = n, .d = d});
  }
  shapes.push_back({.n_q = 2048, .n_k = 2048, .d = 128, .causal = true});
  shapes.push_back({.batch = 8, .heads = 12, .n_q = 128, .n_k = 128, .d = 32});
  shapes.push_back({.type = Type::float64, .n_q = 2048, .n_k = 2048, .d = 64});
  Shape decode{.heads = 32, .n_q = 1, .d = 128};
  for (const std::int64_t n_k : {4096, 16384, 65536}) {
    decode.n_k = n_k;
    shapes.push_back(decode);
  }
  decode.n_k = 16384;
  for (const Type type : {Type::bfloat16, Type::float16}) {
    shapes.push_back(decode);
    shapes.back().type = type;
  }
  shapes.push_back(decode);  // 8 query heads on each key-value head
  shapes.back().kv_heads = decode.heads;
  shapes.back().heads = 8 * decode.heads;
  return shapes;
}

void print_heading(int turns) {
  std::printf(
      "%s, %d turns each; fractions are best (median); read is GB/s and of reading K and V\n",
      active_target().c_str(), turns);
  std::printf("%-44s %7s  %15s  %11s  %11s  %s\n", "shape", "threads", "GFLOP/s", "of FMA peak",
              "of L1-fed", "read");
}

void print_row(const Shape& shape, int threads, int turns_count) {
  const Problem problem(shape, threads);
  Turns turns = turns_beside_roofs(problem);
  for (int t = 0; t < turns_count; ++t) turns.take();

  const double gflop = useful_flops(shape) * 1e-9, gbyte = bytes_to_read(shape) * 1e-9;
  const Summary calls = turns.calls();
  const Summary of_fma = turns.fraction(register_fma), of_l1 = turns.fraction(l1_fma);
  std::printf("%-44s %7d  %6.1f (%6.1f)  %.2f (%.2f)  %.2f (%.2f)", name_of(shape).c_str(), threads,
              calls.best * gflop, calls.median * gflop, of_fma.best, of_fma.median, of_l1.best,
              of_l1.median);
  if (is_decode(shape)) {
    const Summary of_read = turns.fraction(memory_read);
    std::printf("  %.1f (%.1f)  %.2f (%.2f)", calls.best * gbyte, calls.median * gbyte,
                of_read.best, of_read.median);
  }
  std::printf("\n");
  std::fflush(stdout);
}

// Throws CLI::ParseError.
Request parse(int argc, char** argv, CLI::App& app) {
  Request request;
  std::int64_t n = 2048;
  Shape shape{.n_q = 0, .n_k = 0, .d = 64};
  std::vector<CLI::Option*> of_shape;
  const auto size = [&](const char* name, std::int64_t& value, const char* help) {
    of_shape.push_back(app.add_option(name, value, help)->check(CLI::PositiveNumber));
  };
  size("--n", n, "query and key positions (2048)");
  size("--n-q", shape.n_q, "query positions, if not n");
  size("--n-k", shape.n_k, "key positions, if not n");
  size("--d", shape.d, "features (64)");
  size("--heads", shape.heads, "query heads (1)");
  size("--kv-heads", shape.kv_heads, "key-value heads (as many as query heads)");
  size("--batch", shape.batch, "sequences (1)");
  of_shape.push_back(app.add_flag("--causal", shape.causal, "the last query at the last key"));
  std::map<std::string, Type> types;
  for (const Type type : {Type::float32, Type::float64, Type::bfloat16, Type::float16}) {
    types[lookback::name_of(type)] = type;
  }
  of_shape.push_back(app.add_option("--dtype", shape.type, "of all arrays (float32)")
                         ->transform(CLI::CheckedTransformer(types))
                         ->option_text("float32|float64|bfloat16|float16"));
  app.add_option("--threads", request.threads, "one or several counts (1 2)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--turns", request.turns, "turns per row (15)")->check(CLI::Range(1, 100000));
  app.parse(argc, argv);

  if (request.threads.empty()) request.threads = thread_counts();
  const bool one_shape = std::any_of(of_shape.begin(), of_shape.end(),
                                     [](const CLI::Option* option) { return option->count() > 0; });
  if (!shape.n_q) shape.n_q = n;
  if (!shape.n_k) shape.n_k = n;
  request.shapes = one_shape ? std::vector{shape} : standard_shapes();
  return request;
}

}  // namespace
}  // namespace lookback::bench

int main(int argc, char** argv) try {
  CLI::App app(
      "Runs attention and the machine's limits in alternate short turns and prints the ratio.\n"
      "Without a shape: the standard list.");
  lookback::bench::Request request;
  try {
    request = lookback::bench::parse(argc, argv, app);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) ? 2 : 0;
  }
  lookback::bench::print_heading(request.turns);
  for (const auto& shape : request.shapes) {
    for (const int threads : request.threads) {
      lookback::bench::print_row(shape, threads, request.turns);
    }
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "lookback_fraction: %s\n", error.what());
  return 2;
}
