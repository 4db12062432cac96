# Views of the alignment matrix.
add_library(lookback_views STATIC support/view_request.cpp)
target_link_libraries(lookback_views PUBLIC lookback_any_problem)
target_link_libraries(lookback_views PRIVATE lookback_warnings)

function(lookback_add_views_test name)
  lookback_add_test(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE lookback_views)
endfunction()

lookback_add_views_test(align_test property/align_test.cpp)
lookback_add_views_test(align_edges_test property/align_edges_test.cpp)
lookback_add_views_test(align_minilm_test conformance/align_minilm_test.cpp)

if(NOT CMAKE_CROSSCOMPILING)  # as in onnx.cmake
  lookback_add_test(align_onnx_test conformance/align_onnx_test.cpp conformance/onnx_case.cpp
    conformance/onnx_attention.cpp conformance/onnx_run.cpp)
  target_link_libraries(align_onnx_test PRIVATE nlohmann_json::nlohmann_json)
endif()
lookback_add_views_test(align_packed_test property/align_packed_test.cpp)
lookback_add_views_test(bits_align bits/align_bits_test.cpp)
lookback_add_views_test(align_cases_test conformance/align_cases_test.cpp)
lookback_add_views_test(align_memory_test conformance/align_memory_test.cpp)
lookback_add_views_test(align_errors_test conformance/align_errors_test.cpp)
lookback_add_views_test(align_progress_test conformance/align_progress_test.cpp)
