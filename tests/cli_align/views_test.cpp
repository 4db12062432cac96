// The numbers in `lookback align`'s files are those of lookback::align().
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "files.hpp"

using namespace lookback;
using namespace lookback::test;

namespace {

constexpr std::int64_t kLayers = 2, kHeads = 4, kKvHeads = 2, kQueries = 9, kKeys = 11, kTop = 5;

struct Expected {
  std::vector<std::int64_t> key;
  std::vector<float> weight, entropy, position, lse, received, map, rows;
};

struct Fixture {
  Folder folder;
  FileArray<float> q, k, v;
  std::vector<std::string> words;

  Fixture() {
    Random random(test_seed());
    q = random_array({kLayers, kHeads, kQueries, 8}, random);
    k = random_array({kLayers, kKvHeads, kKeys, 8}, random);
    v = random_array({kLayers, kKvHeads, kKeys, 3}, random);
    q.write(path("q.npy"), "<f4");
    k.write(path("k.npy"), "<f4");
    v.write(path("v.npy"), "<f4");
  }
  std::string path(const std::string& name) const { return folder.path(name); }
  Arguments align(const Arguments& more) const {
    return Arguments{"align", "--q", path("q.npy"), "--k", path("k.npy"), "--top", "5"} + more;
  }
  nlohmann::json json(const Arguments& more) const {
    const Outcome outcome = run(align(more + Arguments{"--json", "-"}));
    CHECK(outcome.err == "");
    REQUIRE(outcome.status == 0);
    return nlohmann::json::parse(outcome.out);
  }
  Expected expected(const Options& options, const std::vector<std::int64_t>& rows = {0}) const {
    const auto view = [](auto& numbers, std::int64_t n, std::int64_t m) {
      numbers.assign(static_cast<std::size_t>(kLayers * kHeads * n * m), 0);
      return heads_first(numbers.data(), kLayers, kHeads, n, m);
    };
    Expected e;
    Views views;
    views.top = TopView{view(e.key, kQueries, kTop), view(e.weight, kQueries, kTop)};
    views.summary =
        SummaryView{view(e.entropy, kQueries, 1), {}, view(e.position, kQueries, 1), {}};
    views.lse = view(e.lse, kQueries, 1);
    views.received = ReceivedView{view(e.received, kKeys, 1), {}, {}};
    views.pooled = PooledView{view(e.map, kQueries, kKeys), Pooling::mean, {}};
    views.rows =
        RowsView{rows, Stage::weights, view(e.rows, static_cast<std::int64_t>(rows.size()), kKeys)};
    lookback::align(q.tensor(), k.tensor(), views, options);
    return e;
  }
};

// Nested lists, flat; null is NaN.
template <class T>
std::vector<T> flat(const nlohmann::json& list) {
  if (list.is_null()) return {std::numeric_limits<T>::quiet_NaN()};
  if (!list.is_array()) return {list.get<T>()};
  std::vector<T> numbers;
  for (const nlohmann::json& one : list) {
    const std::vector<T> more = flat<T>(one);
    numbers.insert(numbers.end(), more.begin(), more.end());
  }
  return numbers;
}

void check_json(const nlohmann::json& json, const Expected& e) {
  CHECK(flat<std::int64_t>(json["links"]["key"]) == e.key);
  CHECK(flat<float>(json["links"]["weight"]) == e.weight);
  CHECK(flat<float>(json["rows"]["entropy"]) == e.entropy);
  CHECK(flat<float>(json["keys"]["received"]) == e.received);
  CHECK(flat<float>(json["map"]["mean_weight"]) == e.map);
  // The position of a row that sees nothing is NaN, its lse -inf; both are null.
  const auto same_or_null = [](const nlohmann::json& list, const std::vector<float>& numbers) {
    const std::vector<float> found = flat<float>(list);
    REQUIRE(found.size() == numbers.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK((std::isfinite(numbers[i]) ? found[i] == numbers[i] : std::isnan(found[i])));
    }
  };
  same_or_null(json["rows"]["position"], e.position);
  same_or_null(json["rows"]["lse"], e.lse);
}

Options all_options() {
  Options options;
  options.scale = 0.5;
  options.temperature = 0.7;
  options.causal = true;
  options.position = Position::at(-1);
  options.softcap = 4;
  return options;
}
const Arguments kAllOptions = {"--scale",  "0.5", "--temperature", "0.7",
                               "--causal", "-1",  "--softcap",     "4"};

}  // namespace

TEST_CASE("cli align: json holds the engine's numbers") {
  const Fixture files;
  check_json(files.json({}), files.expected({}));
  check_json(files.json(kAllOptions), files.expected(all_options()));
  check_json(files.json({"--threads", "1"}), files.expected({}));
}

TEST_CASE("cli align: a layer and a head are a part of all of them") {
  const Fixture files;
  std::vector<double> slopes, sinks;
  for (int place = 0; place < kLayers * kHeads; ++place) {
    slopes.push_back(0.125 * place);
    sinks.push_back(1.0 - place);
  }
  FileArray<double>{{kLayers, kHeads}, slopes}.write(files.path("alibi.npy"), "<f8");
  FileArray<double>{{kLayers, kHeads}, sinks}.write(files.path("sinks.npy"), "<f8");
  list_of<std::int64_t>({7, 10}).write(files.path("lengths.npy"), "<i8");
  const Arguments options = {
      "--alibi",   files.path("alibi.npy"),   "--sinks",    files.path("sinks.npy"),
      "--lengths", files.path("lengths.npy"), "--position", "bottom-right"};
  const nlohmann::json all = files.json(options);
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    for (std::size_t head = 0; head < kHeads; ++head) {
      const nlohmann::json one = files.json(
          options + Arguments{"--layer", std::to_string(layer), "--head", std::to_string(head)});
      for (const auto& [table, view] : {std::pair("links", "weight"), std::pair("rows", "lse"),
                                        std::pair("map", "mean_weight")}) {
        CHECK(one[table][view][0][0] == all[table][view][layer][head]);
      }
      CHECK(one["layers"] == nlohmann::json({layer}));
      CHECK(one["heads"] == nlohmann::json({head}));
    }
  }
  const nlohmann::json layer = files.json(options + Arguments{"--layer", "1"});
  CHECK(layer["map"]["mean_weight"][0] == all["map"]["mean_weight"][1]);
  const nlohmann::json head = files.json(options + Arguments{"--head", "2"});
  CHECK(head["map"]["mean_weight"][1][0] == all["map"]["mean_weight"][1][2]);
}

TEST_CASE("cli align: npy files hold the engine's bits") {
  const Fixture files;
  const Outcome outcome = run(files.align({"--rows", "8,0-1", "--npy", files.path("at")}));
  CHECK(outcome.err == "");
  REQUIRE(outcome.status == 0);
  const Expected e = files.expected({}, {8, 0, 1});
  const auto read = [&](const char* name, const NpyShape& tail) {
    NpyShape shape = {kLayers, kHeads};
    shape.insert(shape.end(), tail.begin(), tail.end());
    return read_array<float>(files.path(std::string("at-") + name + ".npy"), shape);
  };
  CHECK(read("weight", {kQueries, kTop}) == e.weight);
  CHECK(read("entropy", {kQueries}) == e.entropy);
  CHECK(read("lse", {kQueries}) == e.lse);
  CHECK(read("received", {kKeys}) == e.received);
  CHECK(read("mean_weight", {kQueries, kKeys}) == e.map);
  CHECK(read("weights", {3, kKeys}) == e.rows);
  const std::string keys = read_bytes(files.path("at-key.npy"));
  CHECK(keys.find("'<i8'") != std::string::npos);
  CHECK(keys.ends_with(data_bytes(e.key)));
}

TEST_CASE("cli align: csv has a line for every number, with its words") {
  const Fixture files;
  write_bytes(files.path("words.json"),
              R"(["a", "b,c", "say \"so\"", "d", "e", "f", "g", "h", "i", "j", "k"])");
  const Outcome outcome =
      run(files.align({"--csv", files.path("at"), "--tokens", files.path("words.json")}));
  CHECK(outcome.err == "");
  REQUIRE(outcome.status == 0);
  const Expected e = files.expected({});
  std::istringstream keys(read_bytes(files.path("at-keys.csv")));
  std::string line;
  std::getline(keys, line);
  CHECK(line == "layer,head,key,key_word,received,received_largest");
  std::getline(keys, line);
  CHECK(line.starts_with("0,0,0,a,"));
  CHECK(std::strtof(line.c_str() + 8, nullptr) == e.received[0]);
  std::getline(keys, line);
  CHECK(line.starts_with("0,0,1,\"b,c\","));
  std::getline(keys, line);
  CHECK(line.starts_with("0,0,2,\"say \"\"so\"\"\","));
  std::size_t lines = 3;
  while (std::getline(keys, line)) ++lines;
  CHECK(lines == e.received.size());
  CHECK(files.folder.list() == std::vector<std::string>{"at-distances.csv", "at-keys.csv",
                                                        "at-links.csv", "at-map.csv", "at-rows.csv",
                                                        "k.npy", "q.npy", "v.npy", "words.json"});
}

TEST_CASE("cli align: rows are named by number, range and word") {
  const Fixture files;
  write_bytes(files.path("rows.txt"), "the cat saw the bird and the dog .");
  const nlohmann::json json =
      files.json({"--query-tokens", files.path("rows.txt"), "--rows", "bird,2-3,the"});
  CHECK(json["chosen_rows"] == nlohmann::json({4, 2, 3, 0, 3, 6}));
  CHECK(flat<float>(json["weights"]["weights"]) == files.expected({}, {4, 2, 3, 0, 3, 6}).rows);
}

TEST_CASE("cli align: with --v and --out comes the context") {
  const Fixture files;
  REQUIRE(run(files.align({"--v", files.path("v.npy"), "--out", files.path("out.npy")})).status ==
          0);
  std::vector<float> out(static_cast<std::size_t>(kLayers * kHeads * kQueries * 3));
  attend(files.q.tensor(), files.k.tensor(), files.v.tensor(),
         heads_first(out.data(), kLayers, kHeads, kQueries, 3));
  CHECK(read_array<float>(files.path("out.npy"), {kLayers, kHeads, kQueries, 3}) == out);
}

TEST_CASE("cli align: the sentence in the terminal") {
  const Outcome outcome = run({"align", "--sentence", "--rows", "climbed"});
  CHECK(outcome.err == "");
  REQUIRE(outcome.status == 0);
  for (const char* part :
       {"layer 5, head 11 of 6 x 12, T = 1: 18 rows look at 18 keys", "Strongest links", " -> ",
        "climbed  looks at  [CLS] 0.29, cat 0.25", "Entropy of each head", "layer 5"}) {
    INFO(part << " in\n" << outcome.out);
    CHECK(outcome.out.find(part) != std::string::npos);
  }
}

TEST_CASE("cli align: a long text has a map with axes") {
  const Folder folder;
  Random random(test_seed());
  random_array({300, 8}, random).write(folder.path("q.npy"), "<f4");
  random_array({300, 8}, random).write(folder.path("k.npy"), "<f4");
  const Outcome outcome = run({"align", "--q", folder.path("q.npy"), "--k", folder.path("k.npy")});
  CHECK(outcome.err == "");
  REQUIRE(outcome.status == 0);
  CHECK(outcome.out.find("|0          |50") != std::string::npos);
  CHECK(outcome.out.find("Each line stands for up to 10 rows") != std::string::npos);
}
