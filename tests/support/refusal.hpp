// A call with one thing wrong: it must be refused with a sentence that says what, and write
// nothing.
#pragma once

#include <cctype>
#include <string>
#include <vector>

#include "support/problem.hpp"

namespace lookback::test {

/// The five views and the options of one call, to be spoiled one at a time.
struct Call {
  static constexpr float kSentinel = -12345.5f;

  Problem<float> data;
  Array<float> out_data, lse_data;
  Tensor q, k, v;
  OutputTensor out, lse;
  Options options;

  explicit Call(const Shape& s = {.n_q = 5, .n_k = 6, .d = 3, .d_v = 4, .B = 2, .H = 4, .H_kv = 2})
      : data(random_problem<float>(s, 1)),
        out_data({s.B, s.H, s.n_q, s.d_v}),
        lse_data({s.B, s.H, s.n_q, 1}),
        q(data.q.view()),
        k(data.k.view()),
        v(data.v.view()),
        out(out_data.output()),
        lse(lse_data.output()) {
    out_data.fill_value(kSentinel);
    lse_data.fill_value(kSentinel);
  }
  Call(const Call&) = delete;  // the views point into it
  Call& operator=(const Call&) = delete;

  void run() const { attend(q, k, v, {out, lse}, options); }
  bool untouched() const {
    bool intact = true;
    for (const auto* array : {&out_data, &lse_data})
      array->for_each_place([&](auto b, auto h, auto i, auto c) {
        intact = intact && array->at(b, h, i, c) == kSentinel;
      });
    return intact;
  }
};

/// Whether text holds it, as a word or number of its own if it starts and ends as one.
inline bool holds_word(const std::string& text, const std::string& word) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const auto end = at + word.size();
    const bool starts = at == 0 || !is_part(text[at - 1]);
    const bool ends = end == text.size() || !is_part(text[end]);
    if (word.size() > 4 || (starts && ends)) return true;
  }
  return false;
}

/// run() throws an error whose message holds each of these: argument names and numbers, not a
/// wording. Whether it threw.
template <class Run>
bool check_error(const Run& run, const std::vector<std::string>& named) {
  std::string message;
  try {
    run();
    FAIL_CHECK("was accepted; expected a message with " << named.front());
    return false;
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    message = error.what();
  }
  INFO("message: " << message);
  for (const std::string& word : named) {
    INFO("expected in it: " << word);
    CHECK(holds_word(message, word));
  }
  CHECK(message.size() > 20);
  CHECK(message.find('\n') == std::string::npos);
  return true;
}

/// The same of call.run(), which leaves the outputs as they were.
template <class AnyCall>
void check_refused(const AnyCall& call, const std::vector<std::string>& named) {
  if (check_error([&] { call.run(); }, named)) CHECK(call.untouched());
}

}  // namespace lookback::test
