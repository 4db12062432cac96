# Each public header compiles by itself, in pedantic C++20, and names no vector type and no thread
# library. Given: source, compiler.
cmake_minimum_required(VERSION 3.22)
file(GLOB headers ${source}/include/lookback/*.hpp)
if(NOT headers)
  message(FATAL_ERROR "There are no public headers")
endif()
foreach(header ${headers})
  execute_process(
    COMMAND ${compiler} -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Wshadow
            -Wold-style-cast -Werror -I ${source}/include -x c++ -include ${header} /dev/null
    RESULT_VARIABLE result ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${header}:\n${output}")
  endif()
  file(STRINGS ${header} found REGEX "#include.*(xsimd|intrin|arm_neon|tbb)")
  if(found)
    message(FATAL_ERROR "${header} has ${found}")
  endif()
  message("${header}")
endforeach()
