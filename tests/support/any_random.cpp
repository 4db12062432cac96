#include "support/any_random.hpp"

namespace lookback::test {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
/// Query-key pairs of a draw, over all heads and sequences.
constexpr std::int64_t kMostPairs = 60000;

}  // namespace

Strides RandomProblem::strides(Random& random, const Extents& e, bool may_repeat) {
  Strides stride{};
  const auto kind = random.integer(0, 9);
  std::array<std::size_t, 4> order = {3, 2, 1, 0};  // innermost first
  if (kind >= 5 && kind <= 6) order = {3, 1, 2, 0};
  if (kind > 6)
    for (std::size_t a = 3; a > 0; --a)
      std::swap(order[a], order[static_cast<std::size_t>(random.integer(0, std::int64_t(a)))]);
  std::int64_t step = kind > 6 ? random.integer(1, 3) : 1;
  for (const std::size_t axis : order) {
    stride[axis] = step;
    step *= std::max<std::int64_t>(e[axis], 1);
    if (kind > 7) step += random.integer(0, 3);
    if (kind > 6 && random.integer(0, 2) == 0) stride[axis] *= -1;
    if (e[axis] == 1 && kind % 2 == 1) stride[axis] = -987654321;  // ignored
  }
  if (may_repeat && kind == 9) {
    stride[static_cast<std::size_t>(random.integer(0, 3))] = 0;
  }
  return stride;
}

RandomProblem::Sizes RandomProblem::sizes() {
  Sizes s{random_.integer(1, 3), 1, random_.integer(1, 2), 1, 1, random_.integer(1, 20),
          random_.integer(1, 20)};
  std::int64_t group = random_.integer(1, 4);
  if (chance(30)) s.d = random_.integer(1, 70);
  if (chance(30)) s.d_v = random_.integer(1, 70);
  s.n_q = random_.integer(1, chance(45) ? 8 : chance(80) ? 50 : 200);
  s.n_k = random_.integer(1, chance(35) ? 40 : chance(75) ? 200 : 700);
  if (chance(5)) s.n_k += 600;
  if (chance(15)) s.n_k = s.n_q;
  while (s.B * s.H_kv * group * s.n_q * s.n_k > kMostPairs) {
    std::int64_t& most = group > 1 ? group : s.B > 1 ? s.B : s.n_q > 9 ? s.n_q : s.n_k;
    most = most > 9 ? most - most / 8 : most - 1;
  }
  s.H = s.H_kv * group;
  if (!allowed_.zero_sizes || !chance(3)) return s;
  switch (random_.integer(0, 5)) {
    case 0:
      s.B = 0;
      break;
    case 1:
      s.H = 0;
      break;
    case 2:
      s.n_q = 0;
      break;
    case 3:
      s.d = 0;
      break;
    case 4:
      s.d_v = 0;
      break;
    default:
      s.n_k = 0;
      break;
  }
  return s;
}

Type RandomProblem::float_type() {
  if (q_type_ == Type::float64) return Type::float64;
  constexpr Type types[] = {Type::float32, Type::bfloat16, Type::float16};
  return chance(50) ? q_type_ : types[random_.integer(0, 2)];
}

AnyArray RandomProblem::array(Type type, const Extents& extent, double width) {
  AnyArray made(type, extent, strides(random_, extent, allowed_.zero_strides));
  made.fill([&] { return random_.normal() * width; });
  return made;
}

Extents RandomProblem::broadcast(const Extents& full) {
  Extents some = full;
  for (std::int64_t& e : some)
    if (chance(40)) e = 1;
  return some;
}

/// Of sequences of up to `most` tokens, one in four of them empty.
std::vector<std::int64_t> RandomProblem::bounds(std::int64_t sequences, std::int64_t most) {
  std::vector<std::int64_t> made = {0};
  for (std::int64_t s = 0; s < sequences; ++s)
    made.push_back(made.back() + (chance(25) ? 0 : random_.integer(1, most)));
  return made;
}

AnyProblem RandomProblem::draw() {
  Sizes s = sizes();
  AnyProblem p;
  if (allowed_.packed && s.B > 0 && s.n_q > 0 && s.n_k > 0 && chance(25)) {
    p.q_bounds = bounds(random_.integer(0, 5), std::max<std::int64_t>(s.n_q, 2));
    if (chance(60)) {
      p.k_bounds = bounds(static_cast<std::int64_t>(p.q_bounds->size()) - 1,
                          std::max<std::int64_t>(std::min<std::int64_t>(s.n_k, 300), 2));
    }
    s.B = 1;
    s.n_q = p.q_bounds->back();
    s.n_k = (p.k_bounds ? *p.k_bounds : *p.q_bounds).back();
  }
  arrays(p, s);
  ranges(p);
  score_terms(p);
  if (!p.q_bounds) {
    if (chance(35)) bias(p);
    if (chance(25)) blocks(p);
    if (chance(35)) mask(p);
  }
  if (chance(30)) documents(p);
  position(p);
  return p;
}

void RandomProblem::arrays(AnyProblem& p, const Sizes& s) {
  const double width = chance(5) ? 6 : 1;
  p.q = array(q_type_, {s.B, s.H, s.n_q, s.d}, width);
  p.k = array(float_type(), {s.B, s.H_kv, s.n_k, s.d}, width);
  p.v = array(chance(60) ? p.k.type() : float_type(), {s.B, s.H_kv, s.n_k, s.d_v}, 1);
  p.out_type = float_type();
  p.out_stride = strides(random_, {s.B, s.H, s.n_q, s.d_v}, false);
  p.lse_stride = strides(random_, {s.B, s.H, s.n_q, 1}, false);
  p.with_lse = !chance(10);
  if (s.d == 0 || chance(25)) p.scale = random_.symmetric(0.5);
  if (chance(30)) p.temperature = 0.25 + random_.unit() * 3;
}

std::vector<double> RandomProblem::per_head(const AnyProblem& p, double width) {
  const std::int64_t n = p.H() * (chance(50) ? 1 : p.sequences());
  std::vector<double> values;
  for (std::int64_t at = 0; at < n; ++at) values.push_back(random_.symmetric(width));
  return values;
}

void RandomProblem::score_terms(AnyProblem& p) {
  if (chance(30)) p.softcap = 0.5 + random_.unit() * (chance(50) ? 5 : 50);
  if (chance(30)) p.alibi = per_head(p, 0.4);
  if (chance(30)) {
    p.sinks = per_head(p, 4);
    for (double& sink : *p.sinks)
      if (chance(15)) sink = -kInf;
  }
  if (allowed_.hook && chance(30)) {
    p.hook = TestHook{static_cast<TestHook::Kind>(random_.integer(0, 4))};
  }
}

void RandomProblem::bias(AnyProblem& p) {
  Type type = float_type();
  if (q_type_ == Type::float64 && chance(50)) type = Type::float32;
  p.bias = array(type, broadcast({p.q.extent(0), p.H(), p.q.extent(2), p.k.extent(2)}), 2);
  if (chance(50)) {
    const int hidden = static_cast<int>(pick({5, 50, 95}));
    p.bias->for_each_place([&](auto b, auto h, auto i, auto j) {
      if (chance(hidden)) p.bias->set(b, h, i, j, -kInf);
    });
  }
}

void RandomProblem::ranges(AnyProblem& p) {
  const std::int64_t n_k = p.k.extent(2);
  p.causal = chance(35);
  if (chance(30)) {
    p.window = Window{};
    if (chance(70)) p.window->left = random_.integer(0, chance(50) ? 4 : n_k + 2);
    if (chance(60)) p.window->right = random_.integer(0, chance(50) ? 4 : n_k + 2);
  }
  if (chance(20)) p.prefix = random_.integer(0, chance(50) ? 5 : n_k + 3);
  if (!p.q_bounds && chance(25)) {
    p.lengths.emplace();
    for (std::int64_t b = 0; b < p.q.extent(0); ++b)
      p.lengths->push_back(chance(15) ? 0 : chance(15) ? n_k : random_.integer(0, n_k));
  }
}

void RandomProblem::position(AnyProblem& p) {
  bool alike = true;
  for (std::int64_t s = 0; s < p.sequences(); ++s)
    alike = alike && p.sequence(s).n_q == p.sequence(s).n_k;
  const bool used = p.causal || p.window || p.alibi;
  if ((alike || !used) && chance(60)) return;
  p.anchor = static_cast<Position::Anchor>(random_.integer(0, 3));
  const std::int64_t n_q = p.q.extent(2), n_k = p.k.extent(2);
  const auto offset = [&] { return random_.integer(-n_q - 3, n_k + 3); };
  p.one_offset = p.anchor == Position::Anchor::offset ? offset() : 0;
  for (std::int64_t s = 0; s < p.sequences(); ++s) p.offsets.push_back(offset());
}

/// Sorted, as in packed documents, or in any order; one array for all or one for each sequence.
std::vector<std::int64_t> RandomProblem::ids(std::int64_t n, std::int64_t B) {
  const std::int64_t rows = chance(50) ? 1 : B;
  const bool sorted = chance(50);
  std::vector<std::int64_t> made;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::int64_t id = -1;
    for (std::int64_t at = 0; at < n; ++at) {
      id = sorted ? id + (chance(6) ? 1 : 0) : random_.integer(-1, 1);
      made.push_back(id);
    }
  }
  return made;
}

void RandomProblem::documents(AnyProblem& p) {
  const std::int64_t B = p.q.extent(0), n_q = p.q.extent(2), n_k = p.k.extent(2);
  p.query_documents = ids(n_q, B);
  if (n_q != n_k || chance(50)) p.key_documents = ids(n_k, B);
}

void RandomProblem::blocks(AnyProblem& p) {
  p.block_rows = pick({1, 2, 5, 16, 17, 40, 1000});
  p.block_keys = pick({1, 3, 16, 60, 64, 100, 128, 130, 500});
  const auto count = [](std::int64_t n, std::int64_t size) { return (n + size - 1) / size; };
  const Extents extent = broadcast({p.q.extent(0), p.H(), count(p.q.extent(2), p.block_rows),
                                    count(p.k.extent(2), p.block_keys)});
  p.blocks = AnyArray(Type::boolean, extent, strides(random_, extent, allowed_.zero_strides));
  p.blocks->fill([&] { return chance(60) ? 1 : 0; });
}

/// True is any byte but 0. Now and then all or nearly all is hidden.
void RandomProblem::mask(AnyProblem& p) {
  const Extents extent = broadcast({p.q.extent(0), p.H(), p.q.extent(2), p.k.extent(2)});
  p.mask = AnyArray(Type::boolean, extent, strides(random_, extent, allowed_.zero_strides));
  const int seen = static_cast<int>(pick({0, 2, 50, 80, 99, 100}));
  p.mask->for_each_place([&](auto b, auto h, auto i, auto j) {
    p.mask->set_byte(b, h, i, j, chance(seen) ? static_cast<int>(pick({1, 2, 128, 255})) : 0);
  });
}

void count_options(const AnyProblem& p, std::map<std::string, int>& counts) {
  const auto count = [&](const std::string& name, bool used) { counts[name] += used ? 1 : 0; };
  for (const Type type : {Type::float32, Type::float64, Type::bfloat16, Type::float16}) {
    count(std::string("k ") + name_of(type), p.k.type() == type);
    count(std::string("v ") + name_of(type), p.v.type() == type);
    count(std::string("out ") + name_of(type), p.out_type == type);
    count(std::string("bias ") + name_of(type), p.bias && p.bias->type() == type);
  }
  count("mixed types", p.q.type() != p.k.type() || p.k.type() != p.v.type());
  count("feature stride of k not 1", p.k.stride()[3] != 1);
  count("packed", p.q_bounds.has_value());
  count("packed with other key bounds", p.k_bounds.has_value());
  count("grouped heads", p.H() > p.k.extent(1));
  count("scale", p.scale.has_value());
  count("temperature", p.temperature != 1);
  count("softcap", p.softcap.has_value());
  count("alibi", p.alibi.has_value());
  count("sinks", p.sinks.has_value());
  count("hook", p.hook.has_value());
  count("causal", p.causal);
  count("window", p.window.has_value());
  count("prefix", p.prefix.has_value());
  for (int anchor = 0; anchor < 4; ++anchor)
    count("position " + std::to_string(anchor), p.anchor && static_cast<int>(*p.anchor) == anchor);
  count("lengths", p.lengths.has_value());
  count("documents", p.query_documents.has_value());
  count("blocks", p.blocks.has_value());
  count("mask", p.mask.has_value());
  count("several chunks", p.k.extent(2) > 512);
}

}  // namespace lookback::test
