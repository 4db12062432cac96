# The Python module, built by pip. A Python with sanitizers, or of another processor, is not at
# hand.
if(NOT CMAKE_CROSSCOMPILING AND NOT LOOKBACK_SANITIZE)
  set(numpy "build: the Python module, by pip in a fresh environment with NumPy")
  set(torch "build: the Python module, with PyTorch and transformers")
  foreach(kind numpy torch)
    add_test(NAME ${${kind}}
             COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/build/python.sh ${kind} ${PROJECT_SOURCE_DIR}
                     ${CMAKE_CURRENT_BINARY_DIR}/build/work/python-${kind} ${PROJECT_BINARY_DIR})
    set_tests_properties(${${kind}} PROPERTIES LABELS build TIMEOUT 900
                         SKIP_REGULAR_EXPRESSION "skipped: ")
  endforeach()
endif()
