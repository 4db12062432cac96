# The cases of CASES.md with all options, and the conformance to ONNX.
target_sources(lookback_test_support PRIVATE support/stored_array.cpp)

# Paths are forced through an internal header, so that small inputs reach every one of them.
function(lookback_add_path_test name)
  lookback_add_test(${name} ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
endfunction()

lookback_add_path_test(cases_hidden_test conformance/cases_hidden_test.cpp)
lookback_add_path_test(cases_position_test conformance/cases_position_test.cpp)
lookback_add_path_test(cases_terms_test conformance/cases_terms_test.cpp)
lookback_add_path_test(cases_broadcast_test conformance/cases_broadcast_test.cpp)
lookback_add_path_test(cases_merge_test conformance/cases_merge_test.cpp)
lookback_add_path_test(cases_packed_test conformance/cases_packed_test.cpp)
lookback_add_path_test(cases_memory_test conformance/cases_memory_test.cpp)
lookback_add_test(cases_refused_test conformance/cases_refused_test.cpp)
lookback_add_path_test(cases_paths_test conformance/cases_paths_test.cpp)

# A cross build has no JSON reader, and nothing of its own to find here.
if(CMAKE_CROSSCOMPILING)
  return()
endif()
lookback_require(nlohmann_json nlohmann-json3-dev "the tests")
target_sources(lookback_test_support PRIVATE support/npy_bytes.cpp)
lookback_add_path_test(onnx_test conformance/onnx_test.cpp conformance/onnx_case.cpp
  conformance/onnx_attention.cpp conformance/onnx_run.cpp)
target_link_libraries(onnx_test PRIVATE nlohmann_json::nlohmann_json)
