// Which memory a tensor covers, and whether an output's memory is its own.
#pragma once

#include "lookback/tensor.hpp"

namespace lookback {

/// Fits in 63 bits: the number of elements, and every offset the strides can reach, in bytes.
bool is_addressable(const Tensor& tensor);

/// Two elements may share a place in memory.
bool may_overlap_itself(const Tensor& tensor);

/// The address ranges meet, and they are not disjoint slots of one array with the same strides.
bool may_share_memory(const Tensor& a, const Tensor& b);

}  // namespace lookback
