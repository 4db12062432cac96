# The C interface, and what is installed and packaged.
if(CMAKE_CROSSCOMPILING)
  return()
endif()
enable_language(C)
find_package(Threads REQUIRED)
set(build_tests ${CMAKE_CURRENT_SOURCE_DIR}/build)
set(work ${CMAKE_CURRENT_BINARY_DIR}/build/work)

# A test that prints "skipped: " and why where it cannot run.
function(lookback_add_command_test name seconds)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS build TIMEOUT ${seconds}
                       SKIP_REGULAR_EXPRESSION "skipped: ")
endfunction()

foreach(kind shared static)
  add_executable(c_${kind}_test c/main.c c/check.c c/problem.c c/attend_test.c c/align_test.c
                 c/merge_test.c c/calls_test.c c/errors_test.c)
  set_target_properties(c_${kind}_test PROPERTIES
    C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/tests)
  target_compile_options(c_${kind}_test PRIVATE -Wall -Wextra -pedantic -Werror)
  target_compile_definitions(c_${kind}_test PRIVATE LOOKBACK_TEST_VERSION="${PROJECT_VERSION}")
  target_link_libraries(c_${kind}_test PRIVATE lookback::lookback_${kind} Threads::Threads m)
  add_test(NAME "c: all of the C interface, ${kind} library" COMMAND c_${kind}_test)
  set_tests_properties("c: all of the C interface, ${kind} library" PROPERTIES
    LABELS c TIMEOUT 300)
endforeach()

find_package(Python3 COMPONENTS Interpreter QUIET)
if(NOT Python3_FOUND)
  set(ctypes_command ${CMAKE_COMMAND} -E echo "skipped: no Python 3 here")
elseif(LOOKBACK_SANITIZE)
  set(ctypes_command ${CMAKE_COMMAND} -E echo "skipped: sanitizers must be linked into Python")
else()
  set(ctypes_command ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/c/ctypes_test.py
      $<TARGET_FILE:lookback_shared> ${PROJECT_VERSION})
endif()
lookback_add_command_test("c: ctypes calls the shared library" 300 ${ctypes_command})

lookback_add_command_test("build: the C header is C99 and C++, and needs nothing else" 60
  ${CMAKE_COMMAND} -Dsource=${PROJECT_SOURCE_DIR} -Dc_compiler=${CMAKE_C_COMPILER}
  -Dcxx_compiler=${CMAKE_CXX_COMPILER} -Dwork=${work}/c_header
  -P ${build_tests}/check_c_header.cmake)

# Sanitizers show symbols of their own, and what is embedded in a program must be built with them.
if(NOT LOOKBACK_SANITIZE)
  lookback_add_command_test("build: the library shows its interface and nothing else" 60
    ${CMAKE_COMMAND} -Dsource=${PROJECT_SOURCE_DIR} -Dnm=${CMAKE_NM}
    -Dcompiler=${CMAKE_CXX_COMPILER} -Dwork=${work}/exports
    -Dshared=$<TARGET_FILE:lookback_shared> -Dstatic=$<TARGET_FILE:lookback_static>
    -P ${build_tests}/check_exports.cmake)
  lookback_add_command_test("build: three outside projects get the same bits" 1200
    ${build_tests}/consumers.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} ${work}/consumers)
  set(deb_test "build: a .deb is made, with the right dependencies")
  set(clean_test "build: outside projects get the same bits from the .deb, in a clean system")
  lookback_add_command_test(${deb_test} 1200
    ${build_tests}/deb.sh ${PROJECT_SOURCE_DIR} ${work}/deb)
  lookback_add_command_test(${clean_test} 1200
    ${build_tests}/clean_system.sh ${PROJECT_SOURCE_DIR} ${work}/deb ${work}/clean_system)
  # They build the library with all the cores there are.
  set_tests_properties("build: three outside projects get the same bits" ${deb_test} PROPERTIES
                       PROCESSORS 2)
  set_tests_properties(${deb_test} PROPERTIES FIXTURES_SETUP deb)
  set_tests_properties(${clean_test} PROPERTIES FIXTURES_REQUIRED deb)
endif()
