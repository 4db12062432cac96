# Problems with any storage types, strides and options; engine paths forced by an internal header.
add_library(lookback_any_problem STATIC support/any_parts.cpp support/any_problem.cpp
            support/any_random.cpp)
target_link_libraries(lookback_any_problem PUBLIC lookback_test_support)
target_link_libraries(lookback_any_problem PRIVATE lookback_warnings)
target_include_directories(lookback_any_problem PUBLIC ${PROJECT_SOURCE_DIR}/src)

function(lookback_add_any_test name)
  lookback_add_test(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE lookback_any_problem)
endfunction()

lookback_add_any_test(options_test property/options_test.cpp)
lookback_add_any_test(poison_test property/poison_test.cpp)
lookback_add_any_test(visible_nan_test property/visible_nan_test.cpp)
lookback_add_any_test(split_test property/split_test.cpp)
lookback_add_any_test(merge_test property/merge_test.cpp)
lookback_add_any_test(conversion_test property/conversion_test.cpp)
lookback_add_any_test(options_bits_test bits/options_bits_test.cpp)

lookback_add_test(option_errors_test conformance/option_errors_test.cpp)
lookback_add_test(packed_errors_test conformance/packed_errors_test.cpp)
lookback_add_test(merge_errors_test conformance/merge_errors_test.cpp)

lookback_add_any_test(hooks_test unit/hooks_test.cpp)
lookback_add_any_test(hook_tiles_test unit/hook_tiles_test.cpp)
lookback_add_any_test(memory_options_test property/memory_options_test.cpp)
lookback_add_any_test(option_extremes_test conformance/option_extremes_test.cpp)
lookback_add_any_test(fused_test property/fused_test.cpp)
