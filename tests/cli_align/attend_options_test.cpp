// `lookback attend` with the options for every kind of attention: the engine's bits.
#include <cmath>

#include "files.hpp"
#include "support/storage.hpp"

using namespace lookback;
using namespace lookback::test;

namespace {

constexpr std::int64_t B = 2, H = 4, kQueries = 5, kKeys = 9, D = 8, kValues = 3;

struct Fixture {
  Folder folder;
  FileArray<float> q, k, v;

  Fixture() {
    Random random(test_seed());
    q = random_array({B, H, kQueries, D}, random);
    k = random_array({B, 2, kKeys, D}, random);
    v = random_array({B, 2, kKeys, kValues}, random);
    q.write(path("q.npy"), "<f4");
    k.write(path("k.npy"), "<f4");
    v.write(path("v.npy"), "<f4");
  }
  std::string path(const std::string& name) const { return folder.path(name); }
  Arguments attend(const Arguments& more) const {
    return Arguments{"attend",      "--q",   path("q.npy"),   "--k",   path("k.npy"),  "--v",
                     path("v.npy"), "--out", path("out.npy"), "--lse", path("lse.npy")} +
           more;
  }
  void check(const Options& options, const Arguments& more) const {
    std::vector<float> out(static_cast<std::size_t>(B * H * kQueries * kValues));
    std::vector<float> lse(static_cast<std::size_t>(B * H * kQueries));
    lookback::attend(
        q.tensor(), k.tensor(), v.tensor(),
        {heads_first(out.data(), B, H, kQueries, kValues), per_row(lse.data(), B, H, kQueries)},
        options);
    const Outcome outcome = run(attend(more));
    CHECK(outcome.err == "");
    REQUIRE(outcome.status == 0);
    CHECK(data_bytes(read_array<float>(path("out.npy"), {B, H, kQueries, kValues})) ==
          data_bytes(out));
    CHECK(data_bytes(read_array<float>(path("lse.npy"), {B, H, kQueries})) == data_bytes(lse));
  }
};

// The elements of a file of another type, as bytes.
std::string data_of(const std::string& path, const char* descr, std::size_t bytes) {
  const std::string file = read_bytes(path);
  CHECK(file.find(std::string("'") + descr + "'") != std::string::npos);
  return file.substr(file.size() - bytes);
}

template <class Half>
FileArray<Half> halves_of(const FileArray<float>& array, const Format& format) {
  FileArray<Half> halves = {array.shape, {}};
  for (const float number : array.data) {
    halves.data.push_back({encode(format, static_cast<double>(number))});
  }
  return halves;
}

template <class Half>
void check_halves(const Format& format, const char* descr, const Arguments& more) {
  const Fixture files;
  const auto q = halves_of<Half>(files.q, format);
  const auto k = halves_of<Half>(files.k, format);
  const auto v = halves_of<Half>(files.v, format);
  q.write(files.path("q.npy"), descr);
  k.write(files.path("k.npy"), descr);
  v.write(files.path("v.npy"), descr);
  std::vector<Half> out(static_cast<std::size_t>(B * H * kQueries * kValues));
  attend(q.tensor(), k.tensor(), v.tensor(), heads_first(out.data(), B, H, kQueries, kValues));
  const Outcome outcome = run(files.attend(more));
  CHECK(outcome.err == "");
  REQUIRE(outcome.status == 0);
  const std::string expected = data_bytes(out);
  CHECK(data_of(files.path("out.npy"), descr, expected.size()) == expected);
}

}  // namespace

TEST_CASE("cli attend: windows and prefixes") {
  const Fixture files;
  Options options;
  options.position = Position::bottom_right();
  SECTION("both sides") {
    options.window = Window{2, 1};
    files.check(options, {"--window", "2,1", "--position", "bottom-right"});
  }
  SECTION("an open side") {
    options.window = Window{{}, 0};
    files.check(options, {"--window", ",0", "--position", "bottom-right"});
  }
  SECTION("with causality and a prefix") {
    options.causal = true;
    options.window = Window{1, {}};
    options.prefix = 2;
    files.check(options, {"--window", "1,", "--causal", "bottom-right", "--prefix", "2"});
  }
}

TEST_CASE("cli attend: lengths, masks and biases") {
  const Fixture files;
  Random random(test_seed());
  Options options;
  SECTION("lengths") {
    const auto lengths = list_of<std::int64_t>({9, 4});
    lengths.write(files.path("lengths.npy"), "<i8");
    options.lengths = lengths.data;
    files.check(options, {"--lengths", files.path("lengths.npy")});
  }
  SECTION("a mask for all heads") {
    std::vector<std::uint8_t> visible;
    for (int place = 0; place < kQueries * kKeys; ++place) {
      visible.push_back(random.integer(0, 3) > 0 ? 1 : 0);
    }
    write_bytes(files.path("mask.npy"),
                npy_start(npy_dictionary("|b1", {kQueries, kKeys})) + data_bytes(visible));
    options.mask = Tensor{visible.data(), Type::boolean, {1, 1, kQueries, kKeys}, {0, 0, kKeys, 1}};
    files.check(options, {"--mask", files.path("mask.npy")});
  }
  SECTION("a bias for each head") {
    FileArray<float> bias = random_array({H, kQueries, kKeys}, random);
    bias.data[3] = -INFINITY;
    bias.write(files.path("bias.npy"), "<f4");
    options.bias = bias.tensor();
    files.check(options, {"--bias", files.path("bias.npy")});
  }
}

TEST_CASE("cli attend: softcap, slopes and sinks") {
  const Fixture files;
  Options options;
  options.position = Position::at(2);
  options.softcap = 1.5;
  const std::vector<double> slopes = {0.5, 0.25, 0.125, 0.0625};
  const auto sinks = FileArray<float>{{B, H}, {1, 2, 3, 4, -1, -INFINITY, 0, 5}};
  const std::vector<double> sink_numbers(sinks.data.begin(), sinks.data.end());
  sinks.write(files.path("sinks.npy"), "<f4");
  options.alibi = slopes;
  options.sinks = sink_numbers;
  files.check(options, {"--softcap", "1.5", "--alibi", "0.5,0.25,0.125,0.0625", "--sinks",
                        files.path("sinks.npy"), "--position", "2"});
}

TEST_CASE("cli attend: 16-bit files in and out") {
  check_halves<float16>(kFloat16, "<f2", {});
  check_halves<bfloat16>(kBfloat16, "<u2", {"--bf16"});
  const Fixture files;
  REQUIRE(run(files.attend({"--dtype", "bfloat16"})).status == 0);
  std::vector<bfloat16> out(static_cast<std::size_t>(B * H * kQueries * kValues));
  attend(files.q.tensor(), files.k.tensor(), files.v.tensor(),
         heads_first(out.data(), B, H, kQueries, kValues));
  const std::string expected = data_bytes(out);
  CHECK(data_of(files.path("out.npy"), "<u2", expected.size()) == expected);
}

TEST_CASE("cli attend: packed sequences") {
  const Folder folder;
  Random random(test_seed());
  const auto q = random_array({7, 2, D}, random);
  const auto k = random_array({10, 2, D}, random);
  const auto v = random_array({10, 2, kValues}, random);
  q.write(folder.path("q.npy"), "<f4");
  k.write(folder.path("k.npy"), "<f4");
  v.write(folder.path("v.npy"), "<f4");
  const auto q_bounds = list_of<std::int64_t>({0, 3, 3, 7});
  const auto k_bounds = list_of<std::int64_t>({0, 4, 6, 10});
  q_bounds.write(folder.path("q_bounds.npy"), "<i8");
  k_bounds.write(folder.path("k_bounds.npy"), "<i8");
  Options options;
  options.q_bounds = q_bounds.data;
  options.k_bounds = k_bounds.data;
  options.causal = true;
  options.position = Position::bottom_right();
  std::vector<float> out(7 * 2 * kValues), lse(7 * 2);
  attend(packed(q.data.data(), 7, 2, D), packed(k.data.data(), 10, 2, D),
         packed(v.data.data(), 10, 2, kValues),
         {packed(out.data(), 7, 2, kValues), packed(lse.data(), 7, 2, 1)}, options);
  const Outcome outcome =
      run({"attend", "--q", folder.path("q.npy"), "--k", folder.path("k.npy"), "--v",
           folder.path("v.npy"), "--out", folder.path("out.npy"), "--lse", folder.path("lse.npy"),
           "--packed-q", folder.path("q_bounds.npy"), "--packed-k", folder.path("k_bounds.npy"),
           "--causal", "bottom-right"});
  CHECK(outcome.err == "");
  REQUIRE(outcome.status == 0);
  CHECK(read_array<float>(folder.path("out.npy"), {7, 2, kValues}) == out);
  CHECK(read_array<float>(folder.path("lse.npy"), {7, 2}) == lse);
}
