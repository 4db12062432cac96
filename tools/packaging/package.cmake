# cpack makes a .deb: the command, both libraries and the headers in one package. Build it with the
# preset `package`, which gives it the directories and the default library of a distribution.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lookback)
set(CPACK_PACKAGE_CONTACT "lookback maintainers <maintainers@lookback.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "exact attention engine for CPUs")
set(CPACK_PACKAGE_DESCRIPTION
"Attention as transformers use it: score queries against keys, softmax, blend
the values. It is streamed, so that the alignment matrix is never stored, and
gives the same bits whatever the threads, the batch and the instruction set.
This package holds the C++ and C library, shared and static, its headers, and
the command lookback.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
# What it is linked with, as dpkg-shlibdeps finds it; what programs linked with it depend on.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
# A program linked with the static library is linked with TBB's development files.
if(BUILD_SHARED_LIBS)
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libtbb-dev)
else()
  set(CPACK_DEBIAN_PACKAGE_DEPENDS libtbb-dev)
endif()
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/compress_manual.cmake)
# By it dpkg tells the loader's cache of the library.
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
include(CPack)
