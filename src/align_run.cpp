#include "align_run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "row_source.hpp"
#include "scratch.hpp"

namespace lookback {
namespace {

using kernels::ceil_div;

/// Rows that are summed up before they are added to others: part of the arithmetic, so a constant.
/// A multiple of every kernel's tile.
constexpr std::int64_t kRowGroup = 192;

/// A group of consecutive rows of one sequence, in one head or (reduced) in all.
struct Group {
  Sequence sequence;
  std::int64_t head;  // 0 if reduced
  std::int64_t first_row, n_rows;
};

/// What a group adds to keys, cells and distances, before it is added to the others.
template <class T>
struct Partial {
  std::vector<T> received_sum, received_max, cells, mass;
  std::vector<std::int64_t> cell_row;
  std::int64_t first_cell_row = 0;
  double share[2] = {};
};

thread_local Scratch thread_workspace;

template <class T>
T& at(const OutputTensor& t, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t f = 0) {
  return static_cast<T*>(
      t.data)[b * t.stride[0] + h * t.stride[1] + i * t.stride[2] + f * t.stride[3]];
}

template <class T>
void fill(const OutputTensor& t, T x) {
  for (std::int64_t b = 0; b < t.extent[0]; ++b) {
    for (std::int64_t h = 0; h < t.extent[1]; ++h) {
      for (std::int64_t i = 0; i < t.extent[2]; ++i) {
        for (std::int64_t f = 0; f < t.extent[3]; ++f) at<T>(t, b, h, i, f) = x;
      }
    }
  }
}

template <class T>
T larger_or_nan(T a, T b) {
  return b <= a || a != a ? a : b;
}

/// Which heads a view of head h is made of.
struct HeadRange {
  std::int64_t first, count;
};

template <class T>
class ViewRun {
 public:
  ViewRun(const Problem& problem, const Views& views, const kernels::Kernels<T>& kernels,
          int workers, Progress& progress)
      : p_(problem),
        views_(views),
        kernels_(kernels),
        source_(problem),
        workers_(workers),
        progress_(progress),
        heads_out_(views.heads == Heads::each ? problem.H : 1) {
    if (!views_.pooled) return;
    const PooledView::Region part = region();
    const std::int64_t C = views_.pooled->cells.extent[3], keys = part.end_key - part.first_key;
    for (std::int64_t c = 0; c < C; ++c) cell_end_.push_back(part.first_key + (c + 1) * keys / C);
  }

  void operator()() {
    clear_outputs();
    if (views_.rows && p_.has_rows()) run_chosen_rows();
    if (wants_groups() && p_.has_rows()) run_groups();
    if (views_.pooled && !progress_.cancelled()) divide_by_area();
  }

 private:
  bool wants_groups() const {
    return views_.top || views_.summary || views_.received || views_.pooled || views_.distances;
  }
  HeadRange heads_of(std::int64_t h) const {
    return views_.heads == Heads::each ? HeadRange{h, 1} : HeadRange{0, p_.H};
  }

  void clear_outputs() {
    if (views_.rows) {
      const bool scores = views_.rows->stage != Stage::weights;
      fill<T>(views_.rows->values, scores ? -std::numeric_limits<T>::infinity() : T(0));
    }
    if (views_.received && views_.received->sum) fill<T>(*views_.received->sum, T(0));
    if (views_.received && views_.received->max) fill<T>(*views_.received->max, T(0));
    if (views_.pooled) fill<T>(views_.pooled->cells, T(0));
    if (views_.distances && views_.distances->mass) fill<T>(*views_.distances->mass, T(0));
    if (views_.distances && views_.distances->share) fill<T>(*views_.distances->share, T(0));
  }

  // ---- Groups of rows, in waves: side by side within a wave, added up in order after it.

  void run_groups() {
    std::vector<Group> wave;
    std::vector<Partial<T>> partials(static_cast<std::size_t>(4 * workers_));
    shares_.assign(static_cast<std::size_t>(2 * p_.q.extent[0] * heads_out_), 0.0);
    mass_.assign(static_cast<std::size_t>(p_.q.extent[0] * heads_out_ * mass_bins()), 0.0);
    for (std::int64_t s = 0; s < p_.sequences; ++s) {
      const Sequence sequence = p_.sequence(s);
      for (std::int64_t h = 0; h < heads_out_; ++h) {
        for (std::int64_t i = 0; i < sequence.n_q; i += kRowGroup) {
          wave.push_back({sequence, h, i, std::min(kRowGroup, sequence.n_q - i)});
          if (wave.size() == partials.size()) run_wave(wave, partials);
        }
      }
    }
    run_wave(wave, partials);
    if (views_.distances && views_.distances->share) put_shares();
    if (mass_bins() > 0) put_mass();
  }

  void run_wave(std::vector<Group>& wave, std::vector<Partial<T>>& partials) {
    if (!progress_.cancelled()) {
      const auto n = static_cast<std::int64_t>(wave.size());
      for_each_task(n, workers_, progress_, [&](std::int64_t g) {
        const auto index = static_cast<std::size_t>(g);
        run_group(wave[index], partials[index]);
        progress_.add(1);
      });
      for (std::size_t g = 0; g < wave.size(); ++g) add(wave[g], partials[g]);
    }
    wave.clear();
  }

  void run_group(const Group& group, Partial<T>& partial) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(group.n_rows));
    for (std::size_t r = 0; r < rows.size(); ++r) {
      rows[r] = group.first_row + static_cast<std::int64_t>(r);
    }
    kernels::AlignRows<T> want{};
    RowWork work;
    set_rows(group.sequence, group.head, rows, want, work);
    want.n_keys = group.sequence.n_k;
    want.first_position = group.first_row + group.sequence.offset;
    want_received(group, want, partial);
    want_cells(group, want, partial);
    want_distances(group, want, partial);
    std::vector<T> summary(4 * rows.size());
    want_summary(want, summary);
    std::vector<std::int64_t> top_index;
    std::vector<T> top_weight;
    if (views_.top) {
      want.top = views_.top->index.extent[3];
      top_index.resize(rows.size() * static_cast<std::size_t>(want.top));
      top_weight.resize(top_index.size());
      want.top_index = top_index.data();
      want.top_weight = top_weight.data();
    }
    kernels_.align(want, workspace(want));
    put_rows(group, want);
  }

  /// The heads' rows and statistics, which must outlive the kernel's call.
  struct RowWork {
    std::vector<RowMemory> memory;
    std::vector<kernels::RowBlock<T>> blocks;
    std::vector<std::vector<T>> statistics;
    std::vector<const T*> pointers;
  };

  void set_rows(const Sequence& sequence, std::int64_t head, std::span<const std::int64_t> rows,
                kernels::AlignRows<T>& want, RowWork& work) const {
    const HeadRange heads = heads_of(head);
    work.memory.resize(static_cast<std::size_t>(heads.count));
    for (std::int64_t h = heads.first; h < heads.first + heads.count; ++h) {
      RowMemory& memory = work.memory[static_cast<std::size_t>(h - heads.first)];
      work.blocks.push_back(source_.rows(sequence, h, rows, memory));
      std::vector<T> statistics;
      for (const kernels::Row& row : memory.rows) {
        const T* of_row = static_cast<const T*>(row.statistics);
        statistics.insert(statistics.end(), {of_row[0], of_row[1]});
      }
      work.statistics.push_back(std::move(statistics));
    }
    for (const auto& statistics : work.statistics) work.pointers.push_back(statistics.data());
    want.heads = work.blocks.data();
    want.n_heads = heads.count;
    want.statistics = work.pointers.data();
    want.reduce_by_max = views_.heads == Heads::max;
  }

  T* workspace(const kernels::AlignRows<T>& want) const {
    return thread_workspace.get<T>(
        kernels_.align_workspace(want.heads[0].n_rows, p_.d, want.n_heads, want.top));
  }

  static std::size_t padded(std::int64_t n) { return static_cast<std::size_t>(n + 64); }

  void want_received(const Group& group, kernels::AlignRows<T>& want, Partial<T>& partial) const {
    if (!views_.received) return;
    const std::int64_t n_q = group.sequence.n_q;
    const std::int64_t last = std::min(views_.received->last.value_or(n_q), n_q);
    want.received_from_row = n_q - last - group.first_row;
    partial.received_sum.assign(padded(want.n_keys), T(0));
    partial.received_max.assign(padded(want.n_keys), T(0));
    if (views_.received->sum) want.received_sum = partial.received_sum.data();
    if (views_.received->max) want.received_max = partial.received_max.data();
  }

  PooledView::Region region() const {
    return views_.pooled->region.value_or(PooledView::Region{0, p_.q.extent[2], 0, p_.k.extent[2]});
  }

  void want_cells(const Group& group, kernels::AlignRows<T>& want, Partial<T>& partial) {
    if (!views_.pooled) return;
    const PooledView::Region part = region();
    const std::int64_t R = views_.pooled->cells.extent[2], C = views_.pooled->cells.extent[3];
    const std::int64_t rows = part.end_row - part.first_row;
    if (R == 0 || C == 0) return;
    partial.cell_row.clear();
    std::int64_t first = -1, last = -1;
    for (std::int64_t i = group.first_row; i < group.first_row + group.n_rows; ++i) {
      // The last cell r with floor(r rows / R) <= i.
      const bool inside = part.first_row <= i && i < part.end_row;
      const std::int64_t cell = inside ? ((i - part.first_row + 1) * R - 1) / rows : -1;
      if (inside && first < 0) first = cell;
      last = std::max(last, cell);
      partial.cell_row.push_back(inside ? cell - first : -1);
    }
    partial.first_cell_row = first;
    partial.cells.assign(first < 0 ? 0 : static_cast<std::size_t>((last - first + 1) * C), T(0));
    if (first < 0) return;
    want.cells = partial.cells.data();
    want.cell_row = partial.cell_row.data();
    want.cell_end = cell_end_.data();
    want.cell_columns = C;
    want.cell_first_key = part.first_key;
    want.cells_by_max = views_.pooled->pooling == Pooling::max;
  }

  void want_distances(const Group& group, kernels::AlignRows<T>& want, Partial<T>& partial) const {
    if (!views_.distances) return;
    if (views_.distances->mass) {
      partial.mass.assign(padded(want.n_keys + group.n_rows), T(0));
      want.mass = partial.mass.data();
    }
    partial.share[0] = partial.share[1] = 0;
    if (views_.distances->share) want.share = partial.share;
    want.share_keys = views_.distances->first;
  }

  void want_summary(kernels::AlignRows<T>& want, std::vector<T>& summary) const {
    if (!views_.summary) return;
    const std::size_t n = summary.size() / 4;
    if (views_.summary->entropy) want.entropy = summary.data();
    if (views_.summary->largest) want.largest = summary.data() + n;
    if (views_.summary->position) want.position = summary.data() + 2 * n;
    if (views_.summary->distance) want.distance = summary.data() + 3 * n;
  }

  /// What is per row goes straight to the outputs.
  void put_rows(const Group& group, const kernels::AlignRows<T>& want) const {
    const std::int64_t b = group.sequence.batch, h = group.head;
    for (std::int64_t r = 0; r < group.n_rows; ++r) {
      const std::int64_t i = group.sequence.first_q + group.first_row + r;
      if (want.entropy) at<T>(*views_.summary->entropy, b, h, i) = want.entropy[r];
      if (want.largest) at<T>(*views_.summary->largest, b, h, i) = want.largest[r];
      if (want.position) at<T>(*views_.summary->position, b, h, i) = want.position[r];
      if (want.distance) at<T>(*views_.summary->distance, b, h, i) = want.distance[r];
      for (std::int64_t t = 0; t < want.top; ++t) {
        at<std::int64_t>(views_.top->index, b, h, i, t) = want.top_index[r * want.top + t];
        at<T>(views_.top->weight, b, h, i, t) = want.top_weight[r * want.top + t];
      }
    }
  }

  /// What groups add up to.
  void add(const Group& group, const Partial<T>& partial) {
    const std::int64_t b = group.sequence.batch, h = group.head;
    if (views_.received) {
      for (std::int64_t j = 0; j < group.sequence.n_k; ++j) {
        const std::int64_t key = group.sequence.first_k + j;
        const auto from = static_cast<std::size_t>(j);
        if (views_.received->sum)
          at<T>(*views_.received->sum, b, h, key) += partial.received_sum[from];
        if (views_.received->max) {
          T& most = at<T>(*views_.received->max, b, h, key);
          most = larger_or_nan(most, partial.received_max[from]);
        }
      }
    }
    if (views_.pooled) add_cells(group, partial);
    if (views_.distances) add_distances(group, partial);
  }

  void add_cells(const Group& group, const Partial<T>& partial) const {
    const OutputTensor& cells = views_.pooled->cells;
    const std::int64_t C = cells.extent[3];
    for (std::size_t i = 0; i < partial.cells.size(); ++i) {
      const auto index = static_cast<std::int64_t>(i);
      T& cell = at<T>(cells, group.sequence.batch, group.head, partial.first_cell_row + index / C,
                      index % C);
      const T x = partial.cells[i];
      cell = views_.pooled->pooling == Pooling::mean ? cell + x : larger_or_nan(cell, x);
    }
  }

  void add_distances(const Group& group, const Partial<T>& partial) {
    const auto slot =
        static_cast<std::size_t>(2 * (group.sequence.batch * heads_out_ + group.head));
    shares_[slot] += partial.share[0];
    shares_[slot + 1] += partial.share[1];
    if (!views_.distances->mass) return;
    const std::int64_t count = mass_bins(), half = (count - 1) / 2;
    double* total = mass_.data() + (group.sequence.batch * heads_out_ + group.head) * count;
    const std::int64_t last_position = group.first_row + group.sequence.offset + group.n_rows - 1;
    for (std::int64_t i = 0; i < group.sequence.n_k + group.n_rows - 1; ++i) {
      const std::int64_t distance = last_position - i;  // of position - key
      const std::int64_t bin = views_.distances->is_signed
                                   ? std::clamp(distance, -half, half) + half
                                   : std::min(std::abs(distance), count - 1);
      total[bin] += partial.mass[static_cast<std::size_t>(i)];
    }
  }

  std::int64_t mass_bins() const {
    return views_.distances && views_.distances->mass ? views_.distances->mass->extent[2] : 0;
  }

  void put_mass() const {
    const OutputTensor& mass = *views_.distances->mass;
    const double* total = mass_.data();
    for (std::int64_t b = 0; b < mass.extent[0]; ++b) {
      for (std::int64_t h = 0; h < heads_out_; ++h) {
        for (std::int64_t bin = 0; bin < mass_bins(); ++bin) {
          at<T>(mass, b, h, bin) = static_cast<T>(*total++);
        }
      }
    }
  }

  void put_shares() const {
    const OutputTensor& share = *views_.distances->share;
    for (std::int64_t b = 0; b < share.extent[0]; ++b) {
      for (std::int64_t h = 0; h < heads_out_; ++h) {
        const double* sums = shares_.data() + 2 * (b * heads_out_ + h);
        at<T>(share, b, h, 0) = sums[1] == 0 ? T(0) : static_cast<T>(sums[0] / sums[1]);
      }
    }
  }

  void divide_by_area() const {
    const PooledView& pooled = *views_.pooled;
    if (pooled.pooling != Pooling::mean) return;
    const PooledView::Region part = region();
    const std::int64_t rows = part.end_row - part.first_row, keys = part.end_key - part.first_key;
    const OutputTensor& cells = pooled.cells;
    const std::int64_t R = cells.extent[2], C = cells.extent[3];
    const auto length = [](std::int64_t cell, std::int64_t n, std::int64_t of) {
      return static_cast<double>((cell + 1) * n / of - cell * n / of);
    };
    for (std::int64_t b = 0; b < cells.extent[0]; ++b) {
      for (std::int64_t h = 0; h < cells.extent[1]; ++h) {
        for (std::int64_t r = 0; r < R; ++r) {
          for (std::int64_t c = 0; c < C; ++c) {
            T& cell = at<T>(cells, b, h, r, c);
            cell = static_cast<T>(static_cast<double>(cell) /
                                  (length(r, rows, R) * length(c, keys, C)));
          }
        }
      }
    }
  }

  // ---- Chosen rows in full.

  void run_chosen_rows() {
    const RowsView& view = *views_.rows;
    const auto count = static_cast<std::int64_t>(view.rows.size());
    const std::int64_t groups = ceil_div(count, kRowGroup), batches = p_.q.extent[0];
    for_each_task(batches * heads_out_ * groups, workers_, progress_, [&](std::int64_t task) {
      const std::int64_t first = task % groups * kRowGroup;
      const std::int64_t h = task / groups % heads_out_, b = task / groups / heads_out_;
      const std::int64_t end = std::min(count, first + kRowGroup);
      // Rows of packed sequences are numbered by token: take those of one sequence at a time.
      for (std::int64_t r = first; r < end && !progress_.cancelled();) {
        const Sequence sequence = sequence_of(b, view.rows[static_cast<std::size_t>(r)]);
        std::int64_t next = r;
        std::vector<std::int64_t> rows;
        while (next < end && holds(sequence, view.rows[static_cast<std::size_t>(next)])) {
          rows.push_back(view.rows[static_cast<std::size_t>(next++)] - sequence.first_q);
        }
        run_full_rows(sequence, b, h, r, rows);
        r = next;
      }
      progress_.add(1);
    });
  }

  bool holds(const Sequence& s, std::int64_t row) const {
    return s.first_q <= row && row < s.first_q + s.n_q;
  }

  Sequence sequence_of(std::int64_t b, std::int64_t row) const {
    if (!p_.is_packed()) return p_.sequence(b);
    const auto bounds = *p_.options.q_bounds;
    const auto after = std::upper_bound(bounds.begin(), bounds.end(), row);
    return p_.sequence(after - bounds.begin() - 1);
  }

  void run_full_rows(const Sequence& sequence, std::int64_t b, std::int64_t h, std::int64_t first,
                     std::span<const std::int64_t> rows) {
    const RowsView& view = *views_.rows;
    kernels::AlignRows<T> want{};
    RowWork work;
    set_rows(sequence, h, rows, want, work);
    want.n_keys = sequence.n_k;
    want.full_scores = view.stage != Stage::weights;
    kernels::Terms terms{};
    if (view.stage == Stage::scaled || view.stage == Stage::capped) {
      see_everything(work, want, view.stage == Stage::capped, terms);
    }
    std::vector<T*> full;
    for (std::int64_t r = 0; r < static_cast<std::int64_t>(rows.size()); ++r) {
      full.push_back(&at<T>(view.values, b, h, first + r));
    }
    want.full_rows = full.data();
    want.full_key_stride = view.values.stride[3];
    kernels_.align(want, workspace(want));
  }

  /// Scores before anything is hidden: every key, padding included, and no term but the softcap.
  void see_everything(RowWork& work, kernels::AlignRows<T>& want, bool softcap,
                      kernels::Terms& terms) const {
    if (!p_.is_packed()) want.n_keys = p_.k.extent[2];
    for (kernels::Row& row : work.memory[0].rows) {
      row.first_key = 0;
      row.gap_first = row.gap_end = row.end_key = want.n_keys;
    }
    kernels::RowBlock<T>& block = work.blocks[0];
    block.visibility = nullptr;
    if (block.terms && block.terms->has_softcap && softcap) {
      terms = {};
      terms.rows = block.terms->rows;
      terms.has_softcap = true;
      terms.softcap = block.terms->softcap;
      block.terms = &terms;
    } else {
      block.terms = nullptr;
    }
  }

  const Problem& p_;
  const Views& views_;
  const kernels::Kernels<T>& kernels_;
  const RowSource<T> source_;
  const int workers_;
  Progress& progress_;
  const std::int64_t heads_out_;
  std::vector<std::int64_t> cell_end_;  // the key after each column of cells
  std::vector<double> mass_;    // per batch, head and distance: too many small numbers for a float
  std::vector<double> shares_;  // per batch and head: weight of the first keys, weight of all
};

}  // namespace

double work_of_views(const Problem& p, const Views& views) {
  const std::int64_t heads = views.heads == Heads::each ? p.H : 1;
  std::int64_t groups = 0;
  for (std::int64_t s = 0; s < p.sequences; ++s) {
    groups += ceil_div(p.sequence(s).n_q, kRowGroup);
  }
  const auto rows = static_cast<std::int64_t>(views.rows ? views.rows->rows.size() : 0);
  return static_cast<double>(heads * (groups + p.q.extent[0] * ceil_div(rows, kRowGroup)));
}

template <class T>
void run_views(const Problem& problem, const Views& views, const kernels::Kernels<T>& kernels,
               int workers, Progress& progress) {
  ViewRun<T>(problem, views, kernels, workers, progress)();
}

template void run_views(const Problem&, const Views&, const kernels::Kernels<float>&, int,
                        Progress&);
template void run_views(const Problem&, const Views&, const kernels::Kernels<double>&, int,
                        Progress&);

}  // namespace lookback
