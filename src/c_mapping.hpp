// The structs of the C interface, turned into those of the C++ interface. Whatever C++ types rule
// out and C does not (null pointers, numbers that name nothing, sizes of another version) ends
// here.
#pragma once

#include "lookback/align.hpp"
#include "lookback/lookback.h"

namespace lookback {

/// No struct of any version is larger: a larger struct_size was never set.
constexpr std::size_t kMostOfStruct = 1 << 16;

/// Throws Error (invalid_argument) with one sentence, as all functions here; names are for it.
Tensor tensor_of(const char* name, const lookback_tensor* tensor);
OutputTensor output_of(const char* name, const lookback_output* output);

/// Null is absent.
std::optional<OutputTensor> optional_output_of(const char* name, const lookback_output* output);

/// What they refer to stays the caller's. Null options are the defaults.
Options options_of(const lookback_options* options);
Views views_of(const lookback_views* views);

}  // namespace lookback
