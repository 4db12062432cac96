// What align() refuses: the message names the argument and the value, and nothing was written.
#include "catch.hpp"
#include "support/refusal.hpp"
#include "support/view_request.hpp"

using namespace lookback::test;
using lookback::DistanceView;
using lookback::Error;
using lookback::ErrorCode;
using lookback::Heads;
using lookback::Options;
using lookback::OutputTensor;
using lookback::PooledView;
using lookback::Stage;
using lookback::Tensor;
using lookback::Type;
using lookback::Views;

namespace {

constexpr std::int64_t kB = 2, kH = 4, kRows = 5, kKeys = 6;

/// Every output, by the name it has in messages.
struct NamedOutput {
  const char* name;
  OutputTensor* (*of)(Views&);
};
constexpr NamedOutput kOutputs[] = {
    {"rows.values", [](Views& w) { return &w.rows->values; }},
    {"top.index", [](Views& w) { return &w.top->index; }},
    {"top.weight", [](Views& w) { return &w.top->weight; }},
    {"summary.entropy", [](Views& w) { return &*w.summary->entropy; }},
    {"summary.largest", [](Views& w) { return &*w.summary->largest; }},
    {"summary.position", [](Views& w) { return &*w.summary->position; }},
    {"summary.distance", [](Views& w) { return &*w.summary->distance; }},
    {"received.sum", [](Views& w) { return &*w.received->sum; }},
    {"received.max", [](Views& w) { return &*w.received->max; }},
    {"pooled.cells", [](Views& w) { return &w.pooled->cells; }},
    {"distances.mass", [](Views& w) { return &*w.distances->mass; }},
    {"distances.share", [](Views& w) { return &*w.distances->share; }},
    {"lse", [](Views& w) { return &*w.lse; }},
};

/// A call with every view, right but for one thing. Every array has a page of its own, so that
/// moving one onto another touches no third.
struct ViewCall {
  static constexpr std::size_t kPage = 4096;
  static constexpr std::byte kUntouched{0xab};

  AnyProblem p{Type::float32, kB, kH, 2, kRows, kKeys, 3, 2};
  ViewRequest request = ViewRequest::everything(p);
  ViewResults<float> shapes;  // gives extents and strides only
  std::vector<std::byte> memory = std::vector<std::byte>(32 * kPage, kUntouched);
  std::byte* next_page;
  Tensor q, k, v;
  OutputTensor out;
  Options options;
  Views views;
  std::vector<std::int64_t> rows;

  ViewCall() : shapes((request.context = true, p), request) {
    const std::size_t address = reinterpret_cast<std::uintptr_t>(memory.data());
    next_page = memory.data() + (kPage - address % kPage) % kPage;
    views = shapes.views(request);
    for (const NamedOutput& output : kOutputs) output.of(views)->data = page();
    out = shapes.out->output();
    out.data = page();
    q = input(p.q);
    k = input(p.k);
    v = input(p.v);
    rows.assign(views.rows->rows.begin(), views.rows->rows.end());
    views.rows->rows = rows;
    before = memory;
  }
  ViewCall(const ViewCall&) = delete;  // the views point into it
  ViewCall& operator=(const ViewCall&) = delete;

  void run() const { align(q, k, v, out, views, options); }
  bool untouched() const { return memory == before; }

 private:
  std::byte* page() {
    next_page += kPage;
    return next_page - kPage;
  }
  Tensor input(AnyArray& array) {
    array.fill([] { return 0.25; });
    std::byte* to = page();
    std::copy(array.bytes().begin(), array.bytes().end(), to);
    return array.at_address(to);
  }
  std::vector<std::byte> before;
};

template <class Spoil>
void refused(Spoil spoil, const std::vector<std::string>& named) {
  ViewCall call;
  spoil(call);
  check_refused(call, named);
}

}  // namespace

TEST_CASE("align errors: the call that is spoiled is right before") {
  ViewCall call;
  CHECK(call.untouched());
  CHECK_NOTHROW(call.run());
  CHECK_FALSE(call.untouched());
}

TEST_CASE("align errors: outputs of the wrong extents") {
  for (const NamedOutput& output : kOutputs) {
    INFO(output.name);
    const std::string name = output.name;
    for (std::size_t axis = 0; axis < 4; ++axis) {
      // How many cells, distances and heaviest keys there are is what these say.
      if (axis == 2 && (name == "pooled.cells" || name == "distances.mass")) continue;
      if (axis == 3 && (name == "pooled.cells" || name == "top.index")) continue;
      INFO("axis " << axis);
      refused(
          [&](ViewCall& c) {
            OutputTensor& t = *output.of(c.views);
            t.extent[axis] = t.extent[axis] > 1 ? t.extent[axis] - 1 : 2;
            t.stride[axis] = 300;
          },
          {output.name});
    }
    refused([&](ViewCall& c) { output.of(c.views)->extent[0] = -1; }, {output.name, "-1"});
  }
}

TEST_CASE("align errors: outputs of the wrong type") {
  for (const NamedOutput& output : kOutputs) {
    INFO(output.name);
    const bool index = std::string(output.name) == "top.index";
    for (const Type type :
         {Type::float64, Type::bfloat16, Type::boolean, Type::int64, Type::float32}) {
      if (type == (index ? Type::int64 : Type::float32)) continue;
      refused([&](ViewCall& c) { output.of(c.views)->type = type; },
              {output.name, name_of(type), index ? "int64" : "float32"});
    }
  }
}

TEST_CASE("align errors: outputs that are null, misaligned, or overlap themselves") {
  for (const NamedOutput& output : kOutputs) {
    INFO(output.name);
    refused([&](ViewCall& c) { output.of(c.views)->data = nullptr; }, {output.name, "null"});
    refused(
        [&](ViewCall& c) {
          OutputTensor& t = *output.of(c.views);
          t.data = static_cast<std::byte*>(t.data) + 1;
        },
        {output.name});
    refused([&](ViewCall& c) { output.of(c.views)->stride[0] = 0; }, {output.name, "itself"});
  }
}

TEST_CASE("align errors: outputs that share memory with an input or another output") {
  for (const NamedOutput& output : kOutputs) {
    INFO(output.name);
    const auto over = [&](const char* other, auto place) {
      refused([&](ViewCall& c) { output.of(c.views)->data = const_cast<void*>(place(c)); },
              {output.name, other});
    };
    over("q", [](ViewCall& c) { return c.q.data; });
    over("k", [](ViewCall& c) { return c.k.data; });
    over("v", [](ViewCall& c) { return c.v.data; });
    over("out", [](ViewCall& c) -> const void* { return c.out.data; });
    for (const NamedOutput& other : kOutputs) {
      if (std::string(other.name) == output.name) continue;
      INFO("over " << other.name);
      refused([&](ViewCall& c) { output.of(c.views)->data = other.of(c.views)->data; },
              {output.name, other.name});
    }
  }
}

TEST_CASE("align errors: outputs that share memory with a bias, a mask or a block list") {
  for (const NamedOutput& output : kOutputs) {
    INFO(output.name);
    const auto as_input = [&output](ViewCall& c, Type type, const lookback::Extents& extent) {
      return Tensor{output.of(c.views)->data, type, extent, {0, 0, kKeys, 1}};
    };
    const lookback::Extents places{1, 1, kRows, kKeys};
    refused([&](ViewCall& c) { c.options.bias = as_input(c, Type::float32, places); },
            {output.name, "bias"});
    refused([&](ViewCall& c) { c.options.mask = as_input(c, Type::boolean, places); },
            {output.name, "mask"});
    refused(
        [&](ViewCall& c) {
          c.options.blocks = lookback::Blocks{as_input(c, Type::boolean, {1, 1, 3, 3}), 2, 2};
        },
        {output.name, "blocks"});
  }
}

TEST_CASE("align errors: rows") {
  refused([](ViewCall& c) { c.rows[2] = kRows; }, {"rows[2]", "5", "4"});
  refused([](ViewCall& c) { c.rows[0] = -1; }, {"rows[0]", "-1"});
  refused([](ViewCall& c) { c.views.rows->rows = c.views.rows->rows.first(2); }, {"rows.values"});
  for (const Stage stage : {Stage::scaled, Stage::capped, Stage::final}) {
    for (const Heads heads : {Heads::mean, Heads::max}) {
      refused(
          [&](ViewCall& c) {
            Views only;
            only.rows = c.views.rows;
            only.rows->stage = stage;
            only.rows->values.extent[1] = 1;
            only.heads = heads;
            c.views = only;
          },
          {"rows", "heads"});
    }
  }
}

TEST_CASE("align errors: how many of the heaviest keys") {
  for (const std::int64_t k : {0, 65, -3}) {
    refused(
        [&](ViewCall& c) {
          c.views.top->index.extent[3] = k;
          c.views.top->weight.extent[3] = k;
        },
        {"top.index", std::to_string(k), "64"});
  }
  refused([](ViewCall& c) { c.views.top->weight.extent[3] = 7; }, {"top.weight", "7", "8"});
}

TEST_CASE("align errors: received, distances and shares") {
  refused([](ViewCall& c) { c.views.received->last = -1; }, {"received.last", "-1"});
  refused([](ViewCall& c) { c.views.distances->first = -2; }, {"distances.first", "-2"});
  refused([](ViewCall& c) { c.views.distances->mass->extent[2] = 0; }, {"distances.mass", "0"});
  refused(
      [](ViewCall& c) {
        c.views.distances->is_signed = true;
        c.views.distances->mass->extent[2] = 8;
      },
      {"distances.mass", "8", "odd"});
}

TEST_CASE("align errors: the cells and their region") {
  refused([](ViewCall& c) { c.views.pooled->cells.extent[2] = kRows + 1; },
          {"pooled.cells", "6", "5"});
  refused(
      [](ViewCall& c) {
        c.views.pooled->cells.extent[2] = 1;
        c.views.pooled->cells.extent[3] = kKeys + 1;
      },
      {"pooled.cells", "7", "6"});
  const auto region = [](PooledView::Region r) {
    return [r](ViewCall& c) { c.views.pooled->region = r; };
  };
  refused(region({-1, 3, 0, 6}), {"pooled.region", "rows", "-1", "3"});
  refused(region({4, 3, 0, 6}), {"pooled.region", "rows", "4", "3"});
  refused(region({0, 6, 0, 6}), {"pooled.region", "rows", "6", "5"});
  refused(region({0, 5, -2, 6}), {"pooled.region", "keys", "-2"});
  refused(region({0, 5, 4, 2}), {"pooled.region", "keys", "4", "2"});
  refused(region({0, 5, 0, 7}), {"pooled.region", "keys", "7", "6"});
  // Right in itself, but smaller than the cells.
  refused(region({1, 4, 0, 6}), {"pooled.cells", "5", "3"});
}

TEST_CASE("align errors: reduced heads want outputs for one head") {
  for (const Heads heads : {Heads::mean, Heads::max}) {
    refused([&](ViewCall& c) { c.views.heads = heads; }, {"rows.values", "4"});
    refused(
        [&](ViewCall& c) {
          c.views.heads = heads;
          for (const NamedOutput& output : kOutputs) output.of(c.views)->extent[1] = 1;
        },
        {"lse"});
  }
}

TEST_CASE("align errors: what attend() refuses") {
  refused([](ViewCall& c) { c.k.extent[3] = 2; }, {"k", "2", "3"});
  refused([](ViewCall& c) { c.q.extent[1] = 3; }, {"out", "4", "3"});
  refused([](ViewCall& c) { c.v.extent[2] = 5; }, {"v", "5", "6"});
  refused([](ViewCall& c) { c.out.extent[3] = 1; }, {"out", "1", "2"});
  refused([](ViewCall& c) { c.q.type = Type::int64; }, {"q", "int64"});
  refused([](ViewCall& c) { c.options.temperature = 0; }, {"temperature", "0"});
  refused([](ViewCall& c) { c.options.threads = 0; }, {"threads", "0"});
  refused([](ViewCall& c) { c.options.causal = true; }, {"causal", "position"});
}

TEST_CASE("align errors: without values, messages speak of no values") {
  ViewCall call;
  call.k.extent[3] = 2;
  std::string message;
  try {
    align(call.q, call.k, call.views, call.options);
  } catch (const Error& error) {
    message = error.what();
  }
  INFO(message);
  CHECK(holds_word(message, "k"));
  CHECK_FALSE(holds_word(message, "v"));
  CHECK_FALSE(holds_word(message, "out"));
  CHECK(call.untouched());
}
