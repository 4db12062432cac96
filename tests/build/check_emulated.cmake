# Runs tests on an emulated older processor: the one binary must find a set that it can run.
# Given: processor, target (what must be in use there), print_target, tests (joined by commas).
cmake_minimum_required(VERSION 3.22)
string(REPLACE "," ";" tests "${tests}")
find_program(qemu qemu-x86_64)
if(NOT qemu)
  message("skipped: no qemu-x86_64 here, so no ${processor} to run on")
  return()
endif()
execute_process(COMMAND ${qemu} -cpu ${processor} ${print_target} OUTPUT_VARIABLE used
                ERROR_QUIET)
if(NOT used STREQUAL "${target}\n")
  message(FATAL_ERROR "${processor} uses ${used}, not ${target}")
endif()
foreach(test ${tests})
  execute_process(COMMAND ${qemu} -cpu ${processor} ${test} RESULT_VARIABLE result
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${test} on ${processor} ended with ${result}:\n${output}")
  endif()
  string(REGEX MATCH "All tests passed[^\n]*" summary "${output}")
  message("${test}: ${summary}")
endforeach()
