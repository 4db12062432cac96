# The Python module, built by pip. A Python with sanitizers, or of another processor, is not at hand.
if(NOT CMAKE_CROSSCOMPILING AND NOT LOOKBACK_SANITIZE)
  set(name "build: the Python module, by pip in a fresh environment")
  add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/build/python.sh ${PROJECT_SOURCE_DIR}
                                ${CMAKE_CURRENT_BINARY_DIR}/build/work/python)
  set_tests_properties(${name} PROPERTIES LABELS build TIMEOUT 2400
                       SKIP_REGULAR_EXPRESSION "skipped: ")
endif()
