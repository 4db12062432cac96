# The command `lookback align`, and its page in a real browser.
if(LOOKBACK_BUILD_TOOLS)
  add_subdirectory(cli_align)
  if(NOT CMAKE_CROSSCOMPILING)
    add_test(NAME page COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/page/run.sh
             $<TARGET_FILE:lookback_cli> ${LOOKBACK_SHARED_DATA})
    set_tests_properties(page PROPERTIES TIMEOUT 600 LABELS page SKIP_RETURN_CODE 77)
  endif()
endif()
