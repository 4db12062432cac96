// What `lookback align` refuses: one sentence, status 2, and nothing written.
#include "files.hpp"

using namespace lookback::test;

namespace {

struct Fixture {
  Folder folder;
  std::vector<std::string> before;

  Fixture() {
    Random random(test_seed());
    random_array({2, 5, 8}, random).write(folder.path("q.npy"), "<f4");
    random_array({2, 7, 8}, random).write(folder.path("k.npy"), "<f4");
    random_array({5, 8}, random).write(folder.path("flat.npy"), "<f4");
    random_array({0, 8}, random).write(folder.path("none.npy"), "<f4");
    write_bytes(folder.path("words.txt"), "one two three");
    write_bytes(folder.path("words.json"), "{\"one\": 1}");
    before = folder.list();
  }
  Arguments align(const std::string& q, const std::string& k, const Arguments& more) const {
    return Arguments{"align", "--q", folder.path(q), "--k", folder.path(k)} + more;
  }
  void refuses(const Arguments& more, const std::string& part) const {
    check_refused(align("q.npy", "k.npy", more), part);
    CHECK(folder.list() == before);
  }
};

}  // namespace

TEST_CASE("cli align: what is required, and what excludes what") {
  check_refused({"align"}, "--q is required, or --sentence");
  check_refused({"align", "--q", "q.npy"}, "--k is required");
  check_refused({"align", "--sentence", "--q", "q.npy"}, "--sentence brings its own");
  check_refused({"align", "--sentence", "--open"}, "--html");
  check_refused({"align", "--sentence", "--layer", "6"}, "--layer: '6'");
  check_refused({"align", "--sentence", "--head", "12"}, "--head: '12'");
  check_refused({"align", "--sentence", "--top", "65"}, "--top: '65'");
  check_refused({"align", "--sentence", "--top", "0"}, "--top: '0'");
  check_refused({"align", "--sentence", "--temperature", "0"}, "temperature is 0");
  check_refused({"align", "--sentence", "--rows", "mouse"}, "--rows: 'mouse'");
  check_refused({"align", "--sentence", "--rows", "3-18"}, "--rows: '3-18'");
  check_refused({"align", "--sentence", "--rows", "1,,2"}, "--rows: ''");
  check_refused({"align", "--sentence", "--rows", "-1"}, "--rows: '-1'");
}

TEST_CASE("cli align: files and results that do not fit") {
  const Fixture files;
  files.refuses({"--layer", "1"}, "--layer: '1'");
  files.refuses({"--head", "2"}, "--head: '2'");
  files.refuses({"--rows", "5"}, "--rows: '5'");
  files.refuses({"--tokens", files.folder.path("words.txt")}, "has 3 words but there are 7 keys");
  files.refuses({"--query-tokens", files.folder.path("words.txt")},
                "has 3 words but there are 5 rows");
  files.refuses({"--tokens", files.folder.path("words.json")}, "is not a JSON list of words");
  files.refuses({"--tokens", files.folder.path("missing.txt")}, "missing.txt");
  files.refuses({"--tokens", files.folder.path("")}, "cannot read");
  files.refuses({"--out", files.folder.path("out.npy")}, "--out needs the values, --v");
  files.refuses({"--v", files.folder.path("k.npy")}, "--out must name");
  files.refuses({"--causal"}, "--causal");
  files.refuses({"--window", "1,1"}, "needs a position");
  check_refused(files.align("q.npy", "flat.npy", {}), "all must have one rank");
  check_refused(files.align("none.npy", "flat.npy", {}), "there is nothing to look at");
  check_refused(files.align("missing.npy", "flat.npy", {}), "missing.npy");
  CHECK(files.folder.list() == files.before);
}

TEST_CASE("cli align: results may neither meet nor overwrite what is read") {
  const Fixture files;
  const std::string same = files.folder.path("same");
  files.refuses({"--png", same, "--html", same}, "--png and --html name the same file");
  files.refuses({"--json", files.folder.path("at-map.csv"), "--csv", files.folder.path("at")},
                "--json and --csv name the same file");
  files.refuses({"--png", files.folder.path("q.npy")}, "which is also an input");
  files.refuses({"--html", files.folder.path("no/page.html")}, "there is no directory");
  files.refuses({"--npy", files.folder.path("no/at")}, "there is no directory");
  files.refuses({"--png", files.folder.path("map.png"), "--html", "/"}, "cannot write");
}
