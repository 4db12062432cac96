# What cmake --install gives: headers, both libraries, and how CMake, pkg-config and man find them.
include(CMakePackageConfigHelpers)

set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lookback)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lookback DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
# A set for each kind, because only the static one is of no use without TBB.
foreach(kind static shared)
  install(TARGETS lookback_${kind} EXPORT lookback-${kind}-targets)
  install(EXPORT lookback-${kind}-targets NAMESPACE lookback:: DESTINATION ${cmake_dir})
endforeach()
# What a C compiler must be told to link a static C++ library.
set(cxx_runtime)
foreach(library stdc++ c++ m)
  if(library IN_LIST CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
    list(APPEND cxx_runtime ${library})
  endif()
endforeach()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/lookback-config.cmake.in
                              ${PROJECT_BINARY_DIR}/lookback-config.cmake
                              INSTALL_DESTINATION ${cmake_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lookback-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lookback-config.cmake
              ${PROJECT_BINARY_DIR}/lookback-config-version.cmake
        DESTINATION ${cmake_dir})

# From the .pc file, so that an installed tree can be moved.
file(RELATIVE_PATH prefix_from_pc /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
list(TRANSFORM cxx_runtime PREPEND " -l" OUTPUT_VARIABLE cxx_runtime_flags)
string(JOIN "" cxx_runtime_flags ${cxx_runtime_flags})
# TBB is among the libraries, because a package under Requires.private would have to be there for
# the shared library too.
configure_file(${CMAKE_CURRENT_LIST_DIR}/lookback.pc.in ${PROJECT_BINARY_DIR}/lookback.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/lookback.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(LOOKBACK_BUILD_TOOLS)
  # The manual page is written by the command itself, so that they cannot differ.
  set(manual ${PROJECT_BINARY_DIR}/lookback.1)
  add_custom_command(OUTPUT ${manual}
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/manual.sh $<TARGET_FILE:lookback_cli>
            ${CMAKE_CROSSCOMPILING_EMULATOR} > ${manual}
    DEPENDS lookback_cli ${CMAKE_CURRENT_LIST_DIR}/manual.sh ${CMAKE_CURRENT_LIST_DIR}/manual.awk
    VERBATIM)
  add_custom_target(lookback_manual ALL DEPENDS ${manual})
  install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  # The command finds a shared library beside which it was installed.
  file(RELATIVE_PATH lib_from_bin /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR})
  set_target_properties(lookback_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${lib_from_bin}")
endif()
