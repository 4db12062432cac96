// `lookback align --html` as a file: one, complete, and safe whatever the words are.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "files.hpp"

using namespace lookback::test;

namespace {

std::string between(const std::string& text, const std::string& start, const std::string& end) {
  const std::size_t from = text.find(start);
  REQUIRE(from != std::string::npos);
  const std::size_t to = text.find(end, from);
  return text.substr(from + start.size(), to - from - start.size());
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

}  // namespace

TEST_CASE("cli align: the page is one file that asks for nothing") {
  const Folder folder;
  const Outcome outcome = run({"align", "--sentence", "--html", folder.path("page.html")});
  CHECK(outcome.err == "");
  REQUIRE(outcome.status == 0);
  CHECK(folder.list() == std::vector<std::string>{"page.html"});
  const std::string page = read_bytes(folder.path("page.html"));
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.size() < 400'000);
  CHECK(count_of(page, "src=") == 0);
  CHECK(count_of(page, "@import") == 0);
  CHECK(count_of(page, "http") == count_of(page, "http://www.w3.org/2000/svg"));
}

TEST_CASE("cli align: words cannot break out of the page") {
  const Folder folder;
  Random random(test_seed());
  random_array({3, 4}, random).write(folder.path("q.npy"), "<f4");
  const std::vector<std::string> words = {"</script><b>", "<!--", "caf\xC3\xA9"};
  write_bytes(folder.path("words.json"), nlohmann::json(words).dump());
  REQUIRE(run({"align", "--q", folder.path("q.npy"), "--k", folder.path("q.npy"), "--tokens",
               folder.path("words.json"), "--html", folder.path("page.html")})
              .status == 0);
  const std::string page = read_bytes(folder.path("page.html"));
  const std::string meta = between(page, "id=\"meta\">", "</script>");
  CHECK(nlohmann::json::parse(meta)["rowWords"] == nlohmann::json(words));
}

TEST_CASE("cli align: --open opens the page, and says so if it cannot") {
  const Folder folder;
  const std::string page = folder.path("page.html");
  const Arguments arguments = {"align", "--sentence", "--html", page, "--open"};
  const Outcome without = run(arguments, {{"PATH=/nowhere"}});
  CHECK(without.status == 1);
  CHECK(without.err.find("nothing to open it with") != std::string::npos);
  CHECK(folder.list() == std::vector<std::string>{"page.html"});

  write_bytes(folder.path("xdg-open"), "#!/bin/sh\necho \"$1\" > \"$0.opened\"\n");
  std::filesystem::permissions(folder.path("xdg-open"), std::filesystem::perms::owner_all);
  const std::string opener = folder.path("xdg-open");
  const std::string directory = opener.substr(0, opener.rfind('/'));
  const Outcome with = run(arguments, {{"PATH=" + directory + ":/usr/bin:/bin"}});
  CHECK(with.err == "");
  CHECK(with.status == 0);
  CHECK(read_bytes(opener + ".opened") == page + "\n");
}
