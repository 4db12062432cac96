#include "c_mapping.hpp"

#include <algorithm>
#include <cstring>

#include "message.hpp"

namespace lookback {
namespace {

// Released structs only grow, at their end: these sizes are those of the first version, for ever.
constexpr std::size_t kFirstOptions = 328, kFirstViews = 216;
static_assert(sizeof(lookback_options) == kFirstOptions && sizeof(lookback_views) == kFirstViews);
static_assert(sizeof(lookback_tensor) == 80 && sizeof(lookback_output) == sizeof(lookback_tensor));

/// The struct as this version knows it: fields that the caller does not know are absent.
template <class Struct>
Struct this_version(const char* name, const Struct* given, std::size_t first_version) {
  const std::size_t size = given->struct_size;
  require(size >= first_version && size <= kMostOfStruct, name, ".struct_size is ", size,
          "; initialise it with lookback_", name, "_init");
  Struct known{};
  std::memcpy(&known, given, std::min(size, sizeof known));
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  const bool is_known = std::all_of(bytes + std::min(size, sizeof known), bytes + size,
                                    [](unsigned char byte) { return byte == 0; });
  require(is_known, name, " gives a field that lookback ", LOOKBACK_VERSION,
          " does not know; leave it absent or use a later lookback");
  return known;
}

bool flag(const char* name, std::int32_t value) {
  require(value == 0 || value == 1, name, " is ", value, "; it is a flag, 0 or 1");
  return value == 1;
}

/// The value at this index, which a caller may have got wrong.
template <class Value, std::size_t n>
Value one_of(const char* name, std::int32_t index, const Value (&values)[n]) {
  require(index >= 0 && index < static_cast<std::int32_t>(n), name, " is ", index,
          "; it must be from 0 to ", n - 1, ", as enumerated in lookback.h");
  return values[index];
}

Type type_of_c(const std::string& name, std::int32_t type) {
  static constexpr Type types[] = {Type::float32, Type::float64, Type::bfloat16,
                                   Type::float16, Type::boolean, Type::int64};
  return one_of((name + ".type").c_str(), type, types);
}

/// Tensors and outputs differ in what may be done with data.
template <class To, class From>
To view_of(const char* name, const From* from) {
  require(from != nullptr, name, " is a null pointer; give it");
  require(from->reserved == 0, name, ".reserved is ", from->reserved, "; it must be 0");
  To view{from->data, type_of_c(name, from->type), {}, {}};
  std::copy_n(from->extent, 4, view.extent.begin());
  std::copy_n(from->stride, 4, view.stride.begin());
  return view;
}

template <class Element, class List>
std::optional<std::span<const Element>> list_of(const char* name, const List& list) {
  require(list.count >= 0, name, ".count is ", list.count, "; it must be at least 0");
  if (!list.data) {
    require(list.count == 0, name, " is a null pointer but its count is ", list.count,
            "; give its data");
    return std::nullopt;
  }
  return std::span(list.data, static_cast<std::size_t>(list.count));
}
std::optional<std::span<const std::int64_t>> integers_of(const char* name,
                                                         const lookback_integers& list) {
  return list_of<std::int64_t>(name, list);
}
std::optional<std::span<const double>> numbers_of(const char* name, const lookback_numbers& list) {
  return list_of<double>(name, list);
}

std::optional<Tensor> optional_tensor_of(const char* name, const lookback_tensor* tensor) {
  if (!tensor) return std::nullopt;
  return tensor_of(name, tensor);
}

template <class T>
std::optional<T> value_if(const char* name, std::int32_t has_it, T value) {
  if (!flag(name, has_it)) return std::nullopt;
  return value;
}

std::optional<Window> window_of(const lookback_window& window) {
  const Window sides{value_if("window.has_left", window.has_left, window.left),
                     value_if("window.has_right", window.has_right, window.right)};
  if (!sides.left && !sides.right) return std::nullopt;
  return sides;
}

std::optional<Position> position_of(const lookback_position& position) {
  const auto offsets = integers_of("position.offsets", position.offsets);
  const bool per_sequence = position.anchor == LOOKBACK_POSITION_PER_SEQUENCE;
  require(per_sequence || !offsets, "position.offsets is given but position.anchor is ",
          position.anchor, "; the anchor for it is LOOKBACK_POSITION_PER_SEQUENCE");
  const std::optional<Position> anchors[] = {
      std::nullopt, Position::top_left(), Position::bottom_right(), Position::at(position.offset),
      Position::per_sequence(offsets.value_or(std::span<const std::int64_t>()))};
  return one_of("position.anchor", position.anchor, anchors);
}

std::optional<Documents> documents_of(const lookback_documents& documents) {
  const auto queries = integers_of("documents.queries", documents.queries);
  const auto keys = integers_of("documents.keys", documents.keys);
  require(queries || !keys, "documents.keys is given without documents.queries; give both");
  if (!queries) return std::nullopt;
  return Documents{*queries, keys};
}

std::optional<Blocks> blocks_of(const lookback_blocks& blocks) {
  if (!blocks.visible) {
    require(blocks.rows == 0 && blocks.keys == 0,
            "blocks.visible is a null pointer but blocks has sizes; give it");
    return std::nullopt;
  }
  return Blocks{tensor_of("blocks.visible", blocks.visible), blocks.rows, blocks.keys};
}

std::function<bool(double)> progress_of(const lookback_options& o) {
  if (!o.progress) return {};
  return [call = o.progress, user = o.progress_user](double done) { return call(done, user) != 0; };
}

}  // namespace

Tensor tensor_of(const char* name, const lookback_tensor* tensor) {
  return view_of<Tensor>(name, tensor);
}
OutputTensor output_of(const char* name, const lookback_output* output) {
  return view_of<OutputTensor>(name, output);
}
std::optional<OutputTensor> optional_output_of(const char* name, const lookback_output* output) {
  if (!output) return std::nullopt;
  return output_of(name, output);
}

Options options_of(const lookback_options* options) {
  Options to;
  if (!options) return to;
  const lookback_options from = this_version("options", options, kFirstOptions);
  to.scale = value_if("has_scale", from.has_scale, from.scale);
  if (flag("has_temperature", from.has_temperature)) to.temperature = from.temperature;
  to.softcap = value_if("has_softcap", from.has_softcap, from.softcap);
  to.alibi = numbers_of("alibi", from.alibi);
  to.bias = optional_tensor_of("bias", from.bias);
  if (from.hook) to.hook = ScoreHook{from.hook, from.hook_user};
  to.sinks = numbers_of("sinks", from.sinks);
  to.causal = flag("causal", from.causal);
  to.window = window_of(from.window);
  to.prefix = value_if("has_prefix", from.has_prefix, from.prefix);
  to.position = position_of(from.position);
  to.lengths = integers_of("lengths", from.lengths);
  to.documents = documents_of(from.documents);
  to.blocks = blocks_of(from.blocks);
  to.mask = optional_tensor_of("mask", from.mask);
  to.q_bounds = integers_of("q_bounds", from.q_bounds);
  to.k_bounds = integers_of("k_bounds", from.k_bounds);
  to.threads = value_if<int>("has_threads", from.has_threads, from.threads);
  to.progress = progress_of(from);
  return to;
}

namespace {

std::optional<RowsView> rows_of(const lookback_rows_view& view) {
  static constexpr Stage stages[] = {Stage::weights, Stage::scaled, Stage::capped, Stage::final};
  const auto rows = integers_of("rows.rows", view.rows);
  const Stage stage = one_of("rows.stage", view.stage, stages);
  require(view.values || !rows, "rows.values is a null pointer; give a place for the rows");
  if (!view.values) return std::nullopt;
  return RowsView{rows.value_or(std::span<const std::int64_t>()), stage,
                  output_of("rows.values", view.values)};
}

std::optional<TopView> top_of(const lookback_top_view& view) {
  if (!view.index && !view.weight) return std::nullopt;
  return TopView{output_of("top.index", view.index), output_of("top.weight", view.weight)};
}

std::optional<SummaryView> summary_of(const lookback_summary_view& view) {
  if (!view.entropy && !view.largest && !view.position && !view.distance) return std::nullopt;
  return SummaryView{optional_output_of("summary.entropy", view.entropy),
                     optional_output_of("summary.largest", view.largest),
                     optional_output_of("summary.position", view.position),
                     optional_output_of("summary.distance", view.distance)};
}

std::optional<ReceivedView> received_of(const lookback_received_view& view) {
  const auto last = value_if("received.has_last", view.has_last, view.last);
  require(view.sum || view.max || !last,
          "received.last is given without received.sum or received.max; give one of them");
  if (!view.sum && !view.max) return std::nullopt;
  return ReceivedView{optional_output_of("received.sum", view.sum),
                      optional_output_of("received.max", view.max), last};
}

std::optional<PooledView> pooled_of(const lookback_pooled_view& view) {
  static constexpr Pooling poolings[] = {Pooling::mean, Pooling::max};
  const Pooling pooling = one_of("pooled.pooling", view.pooling, poolings);
  const auto region =
      value_if("pooled.has_region", view.has_region,
               PooledView::Region{view.first_row, view.end_row, view.first_key, view.end_key});
  require(view.cells || !region, "pooled.cells is a null pointer; give a place for the region");
  if (!view.cells) return std::nullopt;
  return PooledView{output_of("pooled.cells", view.cells), pooling, region};
}

std::optional<DistanceView> distances_of(const lookback_distance_view& view) {
  const bool is_signed = flag("distances.is_signed", view.is_signed);
  const auto first = value_if("distances.has_first", view.has_first, view.first);
  require(view.share || !first, "distances.share is a null pointer; give a place for the share");
  if (!view.mass && !view.share) return std::nullopt;
  DistanceView distances;
  distances.mass = optional_output_of("distances.mass", view.mass);
  distances.is_signed = is_signed;
  distances.share = optional_output_of("distances.share", view.share);
  distances.first = first.value_or(distances.first);
  return distances;
}

}  // namespace

Views views_of(const lookback_views* views) {
  static constexpr Heads all_heads[] = {Heads::each, Heads::mean, Heads::max};
  require(views != nullptr, "views is a null pointer; say what to compute");
  const lookback_views from = this_version("views", views, kFirstViews);
  Views to;
  to.rows = rows_of(from.rows);
  to.top = top_of(from.top);
  to.summary = summary_of(from.summary);
  to.received = received_of(from.received);
  to.pooled = pooled_of(from.pooled);
  to.distances = distances_of(from.distances);
  to.heads = one_of("heads", from.heads, all_heads);
  to.lse = optional_output_of("lse", from.lse);
  return to;
}

}  // namespace lookback
