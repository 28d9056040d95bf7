# SPDX-License-Identifier: MIT
#
# Toolchain file: builds for arm64 on another machine, and lets ctest run the programs under
# qemu-user. The libraries come from a tree of Debian's arm64 packages, which
# tests/arm64/make_sysroot.sh makes:
#
#   cmake -S . -B build-arm64 -DCMAKE_TOOLCHAIN_FILE=tools/cmake/arm64.cmake
#         -DRNIC_ARM64_SYSROOT=DIRECTORY

# CMake reads this file again for each of its own trials, which must know the tree too.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RNIC_ARM64_SYSROOT)
if(NOT RNIC_ARM64_SYSROOT)
  message(FATAL_ERROR
    "-DRNIC_ARM64_SYSROOT= must name a tree that tests/arm64/make_sysroot.sh made")
endif()

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
if(NOT CMAKE_C_COMPILER)
  set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
endif()
set(CMAKE_SYSROOT ${RNIC_ARM64_SYSROOT})
set(CMAKE_FIND_ROOT_PATH ${RNIC_ARM64_SYSROOT})

# protoc-c and python3 run here. What is linked is arm64's alone.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${RNIC_ARM64_SYSROOT})
set(usr ${RNIC_ARM64_SYSROOT}/usr)
set(ENV{PKG_CONFIG_LIBDIR} ${usr}/lib/aarch64-linux-gnu/pkgconfig:${usr}/share/pkgconfig)
unset(usr)

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${RNIC_ARM64_SYSROOT})
