#include "align/views.hpp"

#include <algorithm>
#include <stdexcept>

#include "interrupt.hpp"
#include "lookback/error.hpp"

namespace lookback::cli {
namespace {

template <class T>
T element(const std::byte* data, std::int64_t place) {
  return static_cast<const T*>(static_cast<const void*>(data))[place];
}

}  // namespace

View::View(Type type, const std::vector<std::int64_t>& shape) : type_(type), shape_(shape) {
  check_fits_in_memory(shape, type, "a view");
  data_ = Buffer(static_cast<std::size_t>(elements_of(shape) * size_of(type)));
}

double View::at(std::int64_t place) const {
  if (type_ == Type::float64) return element<double>(data(), place);
  if (type_ == Type::int64) return static_cast<double>(integer_at(place));
  return static_cast<double>(float_at(place));
}

float View::float_at(std::int64_t place) const {
  return element<float>(data(), place);
}

std::int64_t View::integer_at(std::int64_t place) const {
  return element<std::int64_t>(data(), place);
}

OutputTensor View::tensor() const {
  OutputTensor tensor = {data_.data(), type_, {1, 1, 1, 1}, {1, 1, 1, 1}};
  for (std::size_t axis = 0; axis < shape_.size(); ++axis) tensor.extent[axis] = shape_[axis];
  for (std::size_t axis = 3; axis-- > 0;) {
    tensor.stride[axis] = tensor.stride[axis + 1] * tensor.extent[axis + 1];
  }
  return tensor;
}

const View& Table::operator[](const std::string& column) const {
  const auto is_it = [&](const Column& candidate) { return candidate.name == column; };
  const auto found = std::find_if(columns.begin(), columns.end(), is_it);
  if (found == columns.end()) throw std::logic_error("there is no view " + column);
  return found->view;
}

const Table& table_named(const std::vector<Table>& tables, const std::string& name) {
  const auto is_it = [&](const Table& candidate) { return candidate.name == name; };
  const auto found = std::find_if(tables.begin(), tables.end(), is_it);
  if (found == tables.end()) throw std::logic_error("there is no table " + name);
  return *found;
}

std::function<bool(double)> Progress::next() {
  const int call = started_++;
  return [this, call](double fraction) {
    bar_.show((call + fraction) / std::max(calls_, call + 1));
    return !interrupted();
  };
}

void call_align(const Task& task, const Views& views, const std::optional<OutputTensor>& out) {
  try {
    if (out) {
      align(task.q, task.k, task.v.value(), *out, views, task.options);
    } else {
      align(task.q, task.k, views, task.options);
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw_if_interrupted();
    throw;
  }
}

std::vector<Table> compute_views(Task task, const ViewRequest& request,
                                 const std::optional<OutputTensor>& out, Progress& progress) {
  const auto [L, H, n_q, d] = task.q.extent;
  const std::int64_t n_k = task.k.extent[2];
  const std::int64_t R = std::min(n_q, request.cells);
  const std::int64_t C = std::min(n_k, request.cells);
  const std::int64_t D = std::min(std::max(n_q, n_k), request.cells);
  const Type real = task.q.type == Type::float64 ? Type::float64 : Type::float32;
  const auto view = [&](std::vector<std::int64_t> shape, Type type) {
    shape.insert(shape.begin(), {L, H});
    return View(type, shape);
  };
  const auto column = [&](const char* name, const std::vector<std::int64_t>& shape) {
    return Column{name, view(shape, real)};
  };
  std::vector<Table> tables(5);
  Table& links = tables[0] = {"links", {"layer", "head", "row", "rank"}, {}};
  links.columns.push_back({"key", view({n_q, request.top}, Type::int64)});
  links.columns.push_back(column("weight", {n_q, request.top}));
  Table& rows = tables[1] = {"rows", {"layer", "head", "row"}, {}};
  for (const char* name : {"entropy", "largest", "position", "distance", "lse"}) {
    rows.columns.push_back(column(name, {n_q}));
  }
  Table& keys = tables[2] = {"keys", {"layer", "head", "key"}, {}};
  for (const char* name : {"received", "received_largest"}) {
    keys.columns.push_back(column(name, {n_k}));
  }
  Table& map = tables[3] = {"map", {"layer", "head", "row_cell", "key_cell"}, {}};
  map.columns.push_back(column("mean_weight", {R, C}));
  Table& distances = tables[4] = {"distances", {"layer", "head", "distance"}, {}};
  distances.columns.push_back(column("mass", {D}));

  Views views;
  views.top = TopView{links["key"].tensor(), links["weight"].tensor()};
  views.summary = SummaryView{rows["entropy"].tensor(), rows["largest"].tensor(),
                              rows["position"].tensor(), rows["distance"].tensor()};
  views.lse = rows["lse"].tensor();
  views.received = ReceivedView{keys["received"].tensor(), keys["received_largest"].tensor(), {}};
  views.pooled = PooledView{map["mean_weight"].tensor(), Pooling::mean, {}};
  views.distances = DistanceView{distances["mass"].tensor(), false, {}, 1};
  if (!request.rows.empty()) {
    const auto chosen = static_cast<std::int64_t>(request.rows.size());
    tables.push_back({"weights", {"layer", "head", "chosen", "key"}, {}});
    tables.back().columns.push_back(column("weights", {chosen, n_k}));
    views.rows = RowsView{request.rows, Stage::weights, tables.back()["weights"].tensor()};
  }
  task.options.progress = progress.next();
  call_align(task, views, out);
  return tables;
}

View compute_map(Task task, std::int64_t rows, std::int64_t keys, Progress& progress) {
  const auto [L, H, n_q, d] = task.q.extent;
  const Type real = task.q.type == Type::float64 ? Type::float64 : Type::float32;
  View map(real, {L, H, std::min(n_q, rows), std::min(task.k.extent[2], keys)});
  Views views;
  views.pooled = PooledView{map.tensor(), Pooling::mean, {}};
  task.options.progress = progress.next();
  call_align(task, views);
  return map;
}

}  // namespace lookback::cli
