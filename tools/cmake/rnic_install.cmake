# SPDX-License-Identifier: MIT
#
# What programs and people find after an installation: libraries with a version, files for
# pkg-config, a package for CMake, and completion in shells.
#
#   rnic_api_library(TARGET NAME DESCRIPTION... [REQUIRES MODULE...] [EXPORT SET])
#       installs the shared library TARGET as libNAME.so.0, with NAME.pc and, in the CMake package,
#       rnic::NAME without "rnic-"; a program that uses the library uses what it REQUIRES as well.
#       SET is for targets that need a package which not everybody has.
#   rnic_pkg_config(NAME DESCRIPTION... [REQUIRES MODULE...] [FOLDERS FOLDER...])
#       installs NAME.pc for libNAME.so; FOLDERS are further folders of headers
#   rnic_cmake_package(SET...)
#       installs the CMake package, with these sets of targets
#   rnic_completion(PROGRAM)
#       installs the completion of a program in bash and zsh
#
# The soname has the major version. A change that breaks compiled programs needs another soname.

include(CMakePackageConfigHelpers)
set(rnic_templates ${CMAKE_CURRENT_LIST_DIR})
set(rnic_package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/rnic)
# An installation that moves still works: all paths start at the place of the file that names them.
file(RELATIVE_PATH rnic_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH rnic_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH rnic_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
string(REGEX REPLACE "/$" "" rnic_prefix "${rnic_prefix}")

function(rnic_pkg_config name)
  cmake_parse_arguments(arg "" "" "REQUIRES;FOLDERS" ${ARGN})
  list(JOIN arg_UNPARSED_ARGUMENTS " " description)
  list(JOIN arg_REQUIRES ", " requires)
  set(cflags "-I\${includedir}")
  foreach(folder ${arg_FOLDERS})
    string(APPEND cflags " -I\${includedir}/${folder}")
  endforeach()
  configure_file(${rnic_templates}/library.pc.in ${CMAKE_BINARY_DIR}/pkgconfig/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/pkgconfig/${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

function(rnic_api_library target name)
  cmake_parse_arguments(arg "" "EXPORT" "REQUIRES" ${ARGN})
  if(NOT arg_EXPORT)
    set(arg_EXPORT rnic-targets)
  endif()
  string(REGEX REPLACE "^rnic-" "" short ${name})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} EXPORT_NAME ${short}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  install(TARGETS ${target} EXPORT ${arg_EXPORT})
  rnic_pkg_config(${name} ${arg_UNPARSED_ARGUMENTS} REQUIRES ${arg_REQUIRES})
endfunction()

function(rnic_completion name)
  set(templates ${PROJECT_SOURCE_DIR}/tools/packaging/completion)
  set(folder ${CMAKE_BINARY_DIR}/completion)
  configure_file(${templates}/program.bash.in ${folder}/${name} @ONLY)
  configure_file(${templates}/program.zsh.in ${folder}/_${name} @ONLY)
  install(FILES ${folder}/${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${folder}/_${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endfunction()

function(rnic_cmake_package)
  set(build_directory ${CMAKE_BINARY_DIR}/cmake)
  foreach(export_set ${ARGN})
    install(EXPORT ${export_set} NAMESPACE rnic:: DESTINATION ${rnic_package_directory})
  endforeach()
  configure_package_config_file(${rnic_templates}/rnic-config.cmake.in
    ${build_directory}/rnic-config.cmake INSTALL_DESTINATION ${rnic_package_directory}
    NO_SET_AND_CHECK_MACRO)
  # Before 1.0 a minor version may change a programming interface.
  write_basic_package_version_file(${build_directory}/rnic-config-version.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${build_directory}/rnic-config.cmake ${build_directory}/rnic-config-version.cmake
    DESTINATION ${rnic_package_directory})
endfunction()
