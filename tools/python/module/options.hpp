// The keywords of attend() and align() as the engine's options.
#pragma once

#include <optional>

#include "array.hpp"
#include "lookback/attend.hpp"
#include "numbers.hpp"

namespace lookback::python {

/// Keywords as given; invalid handles are those that were left out or None.
struct Keywords {
  nb::handle scale, temperature, causal, position, window, prefix, lengths, documents, blocks, mask,
      bias, softcap, alibi, sinks, hook, layout, q_bounds, k_bounds, threads, progress;

  /// False if no option has this name.
  bool set(const char* name, nb::handle value);
};

/// Takes each keyword of an option out of the call's keywords; gives the rest to `other`, which
/// returns false for a name that it does not know.
template <class Other>
Keywords take_keywords(const char* function, const nb::kwargs& kwargs, const Other& other);

/// Throws TypeError: no such keyword.
[[noreturn]] void refuse_keyword(const char* function, const char* name);

/// "bhnd" or "bnhd"; packed with bounds.
Layout layout_of(const Keywords& keywords);

/// Options, and what they point to.
class CallOptions {
 public:
  /// q and k are the views that the engine will see.
  CallOptions(const Keywords& keywords, const Tensor& q, const Tensor& k);
  CallOptions(const CallOptions&) = delete;
  CallOptions& operator=(const CallOptions&) = delete;

  const Options& options() const { return options_; }

 private:
  void set_score_terms(const Keywords& keywords);
  void set_position(const Keywords& keywords);
  void set_visibility(const Keywords& keywords);
  void set_documents(nb::handle given);
  void set_blocks(nb::handle given);
  void set_bounds(const Keywords& keywords);
  Position parse_position(nb::handle given, const char* name, std::optional<Ints>& offsets) const;
  void require_agreement(const Position& a, const Position& b) const;
  bool agree(const Position& a, const Position& b) const;
  std::span<const double> per_head(std::optional<Doubles>& into, nb::handle given,
                                   const char* name);
  std::int64_t sequences() const;

  const Tensor &q_, &k_;
  Options options_;
  std::optional<Doubles> alibi_, sinks_;
  std::optional<Ints> causal_offsets_, offsets_, lengths_, query_ids_, key_ids_, q_bounds_,
      k_bounds_;
  std::optional<Array> bias_, mask_, blocks_;
};

template <class Other>
Keywords take_keywords(const char* function, const nb::kwargs& kwargs, const Other& other) {
  Keywords keywords;
  for (const auto& [key, value] : kwargs) {
    const char* name = nb::borrow<nb::str>(key).c_str();
    if (!keywords.set(name, value) && !other(name, value)) refuse_keyword(function, name);
  }
  return keywords;
}

}  // namespace lookback::python
