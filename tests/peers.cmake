# tools/peers tests itself: on tiny shapes, with a reference in numpy in the place of the peers.
if(NOT CMAKE_CROSSCOMPILING)
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(NOT Python3_FOUND)
    set(peers_command ${CMAKE_COMMAND} -E echo "skipped: no Python 3 here")
  elseif(LOOKBACK_SANITIZE)
    set(peers_command ${CMAKE_COMMAND} -E echo "skipped: sanitizers must be linked into Python")
  else()
    set(peers_command ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1 ${Python3_EXECUTABLE}
        ${PROJECT_SOURCE_DIR}/tools/peer_bench --self-test --library $<TARGET_FILE:lookback_shared>)
  endif()
  lookback_add_command_test("peers: the comparison, on tiny shapes" 300 ${peers_command})
endif()
