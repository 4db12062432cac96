// Everything that can be wrong with a call is found here, before anything is written.
#pragma once

#include <initializer_list>

#include "problem.hpp"

namespace lookback {

struct Named {
  const char* name;
  const Tensor& tensor;
};

/// Throws Error (invalid_argument) with one sentence, as all functions here.
Problem check(const Tensor& q, const Tensor& k, const Tensor& v, const Outputs& outputs,
              const Options& options);

/// Extents, strides, address.
void check_array(const Named& array);

/// The element type, given that of q.
void check_float(const Named& array, Type type_of_q);

/// lse against the extents of what it is the log-sum-exp of, whose name is given.
void check_lse(const Named& lse, Type wanted, const Named& reference);

/// One extent against the one it must equal.
void check_extent(const Named& array, std::size_t axis, const char* unit, const Named& reference,
                  std::int64_t wanted);

/// An output is no place twice, and shares no memory with the others.
void check_output_memory(const Named& output, std::initializer_list<Named> others);

/// check_options.cpp: what the options say, given arrays that fit together.
void check_score_terms(const Problem& problem);
void check_visibility(const Problem& problem);
void check_packed(const Problem& problem);

}  // namespace lookback
