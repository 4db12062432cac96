// The functions of the C interface: each is one of the C++ interface, behind a wall that no
// exception crosses.
#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <vector>

#include "c_mapping.hpp"
#include "lookback/lookback.h"
#include "lookback/merge.hpp"
#include "lookback/target.hpp"
#include "message.hpp"

namespace lookback {
namespace {

/// Not a string, so that no message can fail for want of memory.
thread_local std::array<char, 1024> last_error{};

lookback_status failed(lookback_status status, const char* message) noexcept {
  const std::size_t length = std::min(std::strlen(message), last_error.size() - 1);
  std::copy_n(message, length, last_error.begin());
  last_error[length] = '\0';
  return status;
}

lookback_status status_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument:
      return LOOKBACK_INVALID_ARGUMENT;
    case ErrorCode::unsupported_target:
      return LOOKBACK_UNSUPPORTED_TARGET;
    case ErrorCode::cancelled:
      return LOOKBACK_CANCELLED;
    case ErrorCode::out_of_memory:
      return LOOKBACK_OUT_OF_MEMORY;
  }
  return LOOKBACK_INTERNAL_ERROR;
}

template <class Call>
lookback_status guarded(const Call& call) noexcept {
  try {
    call();
    return LOOKBACK_OK;
  } catch (const Error& error) {
    return failed(status_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return failed(LOOKBACK_OUT_OF_MEMORY,
                  "memory for the call could not be allocated; the outputs are not to be used");
  } catch (const std::exception& error) {
    return failed(LOOKBACK_INTERNAL_ERROR, error.what());
  } catch (...) {
    return failed(LOOKBACK_INTERNAL_ERROR, "a callback threw an unknown exception");
  }
}

/// Never destroyed, so that their names outlast whatever runs at exit.
const std::vector<Target>& all_targets() {
  static const auto& list = *new std::vector<Target>(targets());
  return list;
}

template <class View, class Pointer>
View contiguous(Pointer data, std::int32_t type, const Extents& extent, const Strides& stride) {
  View view{data, type, 0, {}, {}};
  std::copy(extent.begin(), extent.end(), view.extent);
  std::copy(stride.begin(), stride.end(), view.stride);
  return view;
}
template <class View, class Pointer>
View heads_first_view(Pointer data, std::int32_t type, std::int64_t B, std::int64_t H,
                      std::int64_t n, std::int64_t d) {
  const Tensor layout = heads_first<const float>(nullptr, B, H, n, d);
  return contiguous<View>(data, type, layout.extent, layout.stride);
}
template <class View, class Pointer>
View positions_first_view(Pointer data, std::int32_t type, std::int64_t B, std::int64_t n,
                          std::int64_t H, std::int64_t d) {
  const Tensor layout = positions_first<const float>(nullptr, B, n, H, d);
  return contiguous<View>(data, type, layout.extent, layout.stride);
}

template <class Struct>
void init(Struct* fields, std::size_t struct_size) {
  if (!fields || struct_size < sizeof fields->struct_size) return;
  std::memset(fields, 0, struct_size);
  fields->struct_size = struct_size;
}

Outputs outputs_of(const lookback_output* out, const lookback_output* lse) {
  Outputs outputs(output_of("out", out));
  outputs.lse = optional_output_of("lse", lse);
  return outputs;
}

void merge_parts(const lookback_part* parts, std::int64_t count, const lookback_output* out,
                 const lookback_output* lse) {
  require(count >= 0, "count is ", count, "; it must be at least 0");
  require(parts || count == 0, "parts is a null pointer but count is ", count, "; give the parts");
  std::vector<Part> list;
  for (std::int64_t p = 0; p < count; ++p) {
    const std::string name = "parts[" + std::to_string(p) + "]";
    list.push_back({tensor_of((name + ".out").c_str(), &parts[p].out),
                    tensor_of((name + ".lse").c_str(), &parts[p].lse)});
  }
  merge(list, outputs_of(out, lse));
}

}  // namespace
}  // namespace lookback

using namespace lookback;  // NOLINT: this file is the other side of it

const char* lookback_last_error() {
  return last_error.data();
}

lookback_tensor lookback_heads_first(const void* data, std::int32_t type, std::int64_t B,
                                     std::int64_t H, std::int64_t n, std::int64_t d) {
  return heads_first_view<lookback_tensor>(data, type, B, H, n, d);
}
lookback_tensor lookback_positions_first(const void* data, std::int32_t type, std::int64_t B,
                                         std::int64_t n, std::int64_t H, std::int64_t d) {
  return positions_first_view<lookback_tensor>(data, type, B, n, H, d);
}
lookback_output lookback_output_heads_first(void* data, std::int32_t type, std::int64_t B,
                                            std::int64_t H, std::int64_t n, std::int64_t d) {
  return heads_first_view<lookback_output>(data, type, B, H, n, d);
}
lookback_output lookback_output_positions_first(void* data, std::int32_t type, std::int64_t B,
                                                std::int64_t n, std::int64_t H, std::int64_t d) {
  return positions_first_view<lookback_output>(data, type, B, n, H, d);
}

void lookback_options_init(lookback_options* options, std::size_t struct_size) {
  init(options, struct_size);
}
void lookback_views_init(lookback_views* views, std::size_t struct_size) {
  init(views, struct_size);
}

lookback_status lookback_attend(const lookback_tensor* q, const lookback_tensor* k,
                                const lookback_tensor* v, const lookback_output* out,
                                const lookback_output* lse, const lookback_options* options) {
  return guarded([&] {
    attend(tensor_of("q", q), tensor_of("k", k), tensor_of("v", v), outputs_of(out, lse),
           options_of(options));
  });
}

lookback_status lookback_merge(const lookback_part* parts, std::int64_t count,
                               const lookback_output* out, const lookback_output* lse) {
  return guarded([&] { merge_parts(parts, count, out, lse); });
}

lookback_status lookback_align(const lookback_tensor* q, const lookback_tensor* k,
                               const lookback_tensor* v, const lookback_output* out,
                               const lookback_views* views, const lookback_options* options) {
  return guarded([&] {
    if (!v && !out) {
      align(tensor_of("q", q), tensor_of("k", k), views_of(views), options_of(options));
    } else {
      align(tensor_of("q", q), tensor_of("k", k), tensor_of("v", v), output_of("out", out),
            views_of(views), options_of(options));
    }
  });
}

std::int64_t lookback_target_count() {
  std::int64_t count = 0;
  guarded([&] { count = static_cast<std::int64_t>(all_targets().size()); });
  return count;
}

lookback_status lookback_get_target(std::int64_t index, lookback_target* target,
                                    std::size_t struct_size) {
  return guarded([&] {
    const auto count = static_cast<std::int64_t>(all_targets().size());
    require(target != nullptr, "target is a null pointer; give a place for it");
    require(index >= 0 && index < count, "index is ", index, "; it must be from 0 to ", count - 1);
    require(struct_size <= kMostOfStruct, "struct_size is ", struct_size, "; give sizeof *target");
    const Target& from = all_targets()[static_cast<std::size_t>(index)];
    const lookback_target known{from.name.c_str(), from.supported, from.same_bits,
                                from.float32_lanes, 0};
    std::memset(target, 0, struct_size);
    std::memcpy(target, &known, std::min(struct_size, sizeof known));
  });
}

lookback_status lookback_active_target(const char** name) {
  return guarded([&] {
    require(name != nullptr, "name is a null pointer; give a place for it");
    const std::string active = active_target();
    for (const Target& target : all_targets()) {
      if (target.name == active) *name = target.name.c_str();
    }
  });
}

lookback_status lookback_set_target(const char* name) {
  return guarded([&] {
    require(name != nullptr, "name is a null pointer; give the name of a target");
    set_target(name);
  });
}

void lookback_block_sizes(std::int64_t* key_block, std::int64_t* chunk) {
  const BlockSizes sizes = block_sizes();
  if (key_block) *key_block = sizes.key_block;
  if (chunk) *chunk = sizes.chunk;
}

const char* lookback_version() {
  return version();
}
