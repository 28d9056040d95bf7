# SPDX-License-Identifier: MIT
#
# Says which packages the build lacks, all in one message, before any folder looks for its own.
#
#   rnic_needs(PACKAGE MODULE NAME)    the Debian package has the pkg-config module NAME,
#   rnic_needs(PACKAGE HEADER NAME)    the header NAME,
#   rnic_needs(PACKAGE PROGRAM NAME)   or the program NAME
#   rnic_check_packages()              ends the configuration when a package is missing

set(rnic_missing_packages "")

function(rnic_needs package kind name)
  string(MAKE_C_IDENTIFIER "RNIC_${package}" found)
  if(kind STREQUAL "MODULE")
    if(PkgConfig_FOUND)
      pkg_check_modules(${found} QUIET ${name})
      set(is_there ${${found}_FOUND})
    else()
      set(is_there 0)
    endif()
  elseif(kind STREQUAL "HEADER")
    find_path(${found} ${name})
    set(is_there ${${found}})
    mark_as_advanced(${found})
  else()
    find_program(${found} ${name})
    set(is_there ${${found}})
    mark_as_advanced(${found})
  endif()
  if(NOT is_there)
    list(APPEND rnic_missing_packages ${package})
    set(rnic_missing_packages "${rnic_missing_packages}" PARENT_SCOPE)
  endif()
endfunction()

function(rnic_check_packages)
  if(rnic_missing_packages STREQUAL "")
    return()
  endif()
  list(JOIN rnic_missing_packages " " packages)
  message(FATAL_ERROR "The build lacks these Debian packages, or what they hold elsewhere:\n"
    "  ${packages}\n"
    "tools/install-packages.sh build installs all packages of the build, and with the further word "
    "test those of the tests. The options RNIC_VERBS, RNIC_APIS, RNIC_LAB, RNIC_SERVE and "
    "RNIC_TESTS leave out what needs some of them.")
endfunction()

find_package(PkgConfig)
if(NOT PkgConfig_FOUND)
  list(APPEND rnic_missing_packages pkg-config)
endif()
rnic_needs(libisal-dev MODULE libisal)
rnic_needs(libev-dev HEADER ev.h)
rnic_needs(libjansson-dev MODULE jansson)
rnic_needs(libmnl-dev MODULE libmnl)
rnic_needs(libseccomp-dev MODULE libseccomp)
rnic_needs(python3 PROGRAM python3)
if(RNIC_PROBES STREQUAL "on")
  rnic_needs(systemtap-sdt-dev HEADER sys/sdt.h)
endif()
if(RNIC_URING STREQUAL "on")
  rnic_needs(liburing-dev MODULE liburing>=2.3)
endif()
if(RNIC_VERBS)
  rnic_needs(libibverbs-dev HEADER infiniband/verbs.h)
  rnic_needs(librdmacm-dev HEADER rdma/rdma_cma.h)
endif()
if(RNIC_APIS)
  rnic_needs(libprotobuf-c-dev MODULE libprotobuf-c)
  rnic_needs(protobuf-c-compiler PROGRAM protoc-c)
endif()
if(RNIC_LAB)
  rnic_needs(libssl-dev MODULE libcrypto)
endif()
if(RNIC_SERVE)
  rnic_needs(libmicrohttpd-dev HEADER microhttpd.h)
endif()
if(RNIC_TESTS)
  rnic_needs(libcmocka-dev HEADER cmocka.h)
endif()
rnic_check_packages()
