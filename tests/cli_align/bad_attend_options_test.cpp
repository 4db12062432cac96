// What those options refuse.
#include "files.hpp"

using namespace lookback::test;

TEST_CASE("cli attend: options for every kind of attention refuse what cannot be") {
  const Folder folder;
  Random random(test_seed());
  const auto q = random_array({2, 5, 8}, random);
  for (const char* name : {"q.npy", "k.npy", "v.npy"}) q.write(folder.path(name), "<f4");
  const auto path = [&](const char* name) { return folder.path(name); };
  list_of<std::int64_t>({5}).write(path("lengths.npy"), "<i8");
  list_of<std::int64_t>({0, 6}).write(path("bounds.npy"), "<i8");
  random_array({2, 2, 2, 5, 5}, random).write(path("deep.npy"), "<f4");
  write_bytes(path("u2.npy"), npy_start(npy_dictionary("<u2", {1})) + "ab");
  const auto before = folder.list();
  const auto refuses = [&](const Arguments& more, const std::string& part) {
    check_refused(Arguments{"attend", "--q", path("q.npy"), "--k", path("k.npy"), "--v",
                            path("v.npy"), "--out", path("out.npy")} +
                      more,
                  part);
    CHECK(folder.list() == before);
  };
  refuses({"--window", "3"}, "--window: '3' is not LEFT,RIGHT");
  refuses({"--window", ","}, "--window: ','");
  refuses({"--window", "-1,2"}, "--window: '-1'");
  refuses({"--window", "1,x"}, "--window: 'x'");
  refuses({"--prefix", "-1"}, "--prefix: '-1'");
  refuses({"--softcap", "0"}, "softcap is 0");
  refuses({"--alibi", "0.5,half"}, "neither numbers like 0.5,0.25 nor a file");
  refuses({"--alibi", "0.5"}, "alibi");
  refuses({"--sinks", path("deep.npy")}, "of shape (heads,) or (batch, heads) is needed");
  refuses({"--sinks", "nan,0"}, "sinks");
  refuses({"--lengths", path("q.npy")}, "int64 is needed");
  refuses({"--mask", path("q.npy")}, "bool is needed");
  refuses({"--bias", path("lengths.npy")}, "float32 or float64 is needed");
  refuses({"--bias", path("u2.npy")}, "with --bf16 it is bfloat16");
  refuses({"--bias", path("deep.npy")}, "at most (batch, heads, n_q, n_k)");
  refuses({"--causal", "1", "--position", "2"}, "in two ways");
  refuses({"--position", "there"}, "--position: 'there'");
  refuses({"--dtype", "int8"}, "--dtype: 'int8'");
  refuses({"--dtype", "float64"}, "float64");
  refuses({"--packed-k", path("bounds.npy")}, "--packed-q");
  refuses({"--packed-q", path("bounds.npy")}, "bounds");
  refuses({"--mask", path("missing.npy")}, "missing.npy");
  refuses({"--out", path("lengths.npy"), "--lengths", path("lengths.npy")}, "--out");
}
