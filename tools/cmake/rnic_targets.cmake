# SPDX-License-Identifier: MIT
#
# The kinds of target of this tree, so that a folder's CMakeLists.txt is a list of files.
#
#   rnic_static_library(NAME FILES... [USES LIBRARY...])   one folder, one static library
#   rnic_shared_library(NAME MAP FILES... [USES LIBRARY...] [SHOWS LIBRARY...])
#                                                          a library with the version script MAP; a
#                                                          program that links the library links what
#                                                          the library SHOWS as well
#   rnic_program(NAME FILES... [USES LIBRARY...])          into build/bin, with a --version; to be
#                                                          installed, with its completion in shells
#   rnic_unit_test(NAME FILES... [USES LIBRARY...])        a cmocka program for ctest, label unit
#   rnic_unit_tests([FOLDER/]NAME... USES LIBRARY...)      a program of each FOLDER/test_NAME.c
#   rnic_thread_test(NAME FILES... [USES LIBRARY...])      the same with FILES, which may be the
#                                                          libraries' own, under ThreadSanitizer
#   rnic_fuzzer(NAME FILES... [USES LIBRARY...])           a libFuzzer program, with -DRNIC_FUZZ=ON;
#                                                          else a test with random inputs

# rnic_options is for all of them; rnic_warnings for what must not bring a sanitizer along.
add_library(rnic_warnings INTERFACE)
target_compile_options(rnic_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wmissing-prototypes
  -Wstrict-prototypes -Wformat=2 -Wvla -Wundef -Wpointer-arith
  $<$<BOOL:${RNIC_WERROR}>:-Werror>)
target_compile_definitions(rnic_warnings INTERFACE _GNU_SOURCE)
# "..." includes name paths of the repository; <rnic/...> includes are the public headers.
target_include_directories(rnic_warnings INTERFACE
  ${PROJECT_SOURCE_DIR} ${CMAKE_BINARY_DIR}/include)
if(NOT RNIC_PROBES STREQUAL "off")
  find_path(RNIC_SDT_INCLUDE_DIR sys/sdt.h)
  mark_as_advanced(RNIC_SDT_INCLUDE_DIR)
  if(RNIC_SDT_INCLUDE_DIR)
    target_compile_definitions(rnic_warnings INTERFACE RNIC_WITH_PROBES)
  endif()
endif()
add_library(rnic_options INTERFACE)
target_link_libraries(rnic_options INTERFACE rnic_warnings)
if(RNIC_SANITIZE)
  string(REPLACE ";" "," rnic_sanitizers "${RNIC_SANITIZE}")
  target_compile_options(rnic_options INTERFACE
    -fsanitize=${rnic_sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(rnic_options INTERFACE -fsanitize=${rnic_sanitizers})
endif()
# Threads of one program count at the same time.
if(RNIC_COVERAGE)
  target_compile_options(rnic_options INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(rnic_options INTERFACE --coverage)
endif()

# What a sanitizer or the counts add to a program needs system calls that the call filters refuse.
if(RNIC_SANITIZE OR RNIC_COVERAGE)
  set(RNIC_CALL_FILTERS OFF)
else()
  set(RNIC_CALL_FILTERS ON)
endif()

function(rnic_static_library name)
  cmake_parse_arguments(arg "" "" "USES" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC rnic_options ${arg_USES})
endfunction()

# The version script names all symbols that the library shows. clang leaves a sanitizer's runtime to
# the program, so then some symbols of a library stay open.
function(rnic_shared_library name map)
  cmake_parse_arguments(arg "" "" "USES;SHOWS" ${ARGN})
  add_library(${name} SHARED ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE rnic_options ${arg_USES} PUBLIC ${arg_SHOWS})
  target_link_options(${name} PRIVATE
    -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/${map} -Wl,-z,now)
  if(NOT RNIC_SANITIZE AND NOT RNIC_FUZZ)
    target_link_options(${name} PRIVATE -Wl,--no-undefined)
  endif()
  set_target_properties(${name} PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${map})
endfunction()

function(rnic_program name)
  cmake_parse_arguments(arg "" "" "USES" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS}
    ${PROJECT_SOURCE_DIR}/tools/support/program_version.c)
  target_compile_definitions(${name} PRIVATE
    RNIC_PROGRAM="${name}" RNIC_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${name} PRIVATE rnic_options ${arg_USES})
  install(TARGETS ${name})
  rnic_completion(${name})
endfunction()

function(rnic_unit_test name)
  cmake_parse_arguments(arg "" "" "USES" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE rnic_options ${arg_USES} rnic_cmocka)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 120)
endfunction()

function(rnic_unit_tests)
  cmake_parse_arguments(arg "" "" "USES" ${ARGN})
  foreach(test IN LISTS arg_UNPARSED_ARGUMENTS)
    get_filename_component(name ${test} NAME)
    get_filename_component(folder ./${test} DIRECTORY)
    rnic_unit_test(test_${name} ${folder}/test_${name}.c USES ${arg_USES})
  endforeach()
endfunction()

# Files outside FILES hide their accesses from the sanitizer, and their system calls do not. Not in
# builds with another sanitizer, nor where the program would run under an emulator.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
check_c_source_compiles("int main(void) { return 0; }" RNIC_HAS_THREAD_SANITIZER)
unset(CMAKE_REQUIRED_FLAGS)

function(rnic_thread_test name)
  if(RNIC_SANITIZE OR RNIC_FUZZ OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  if(RNIC_HAS_THREAD_SANITIZER)
    cmake_parse_arguments(arg "" "" "USES" ${ARGN})
    add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_compile_options(${name} PRIVATE -fsanitize=thread -fno-omit-frame-pointer)
    target_link_options(${name} PRIVATE -fsanitize=thread)
    target_link_libraries(${name} PRIVATE rnic_options ${arg_USES} rnic_cmocka)
    # The sanitizer wants its addresses for itself, and a kernel that draws many bits takes them.
    add_test(NAME ${name} COMMAND sh -c
      "setarch -R true 2>/dev/null && exec setarch -R \"$0\"; exec \"$0\"" $<TARGET_FILE:${name}>)
  else()
    add_test(NAME ${name} COMMAND sh -c
      "echo 'skipped: this compiler has no ThreadSanitizer'; exit 77")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 120 SKIP_RETURN_CODE 77)
endfunction()

function(rnic_fuzzer name)
  cmake_parse_arguments(arg "SEEDED" "" "USES" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE rnic_options ${arg_USES})
  if(arg_SEEDED)
    target_compile_definitions(${name} PRIVATE FUZZ_SEEDED)
  endif()
  if(RNIC_FUZZ)
    if(arg_SEEDED)
      target_sources(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/fuzz_mutator.c)
    endif()
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers ${name})
  else()
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_sources(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/fuzz_driver.c)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 120)
  endif()
endfunction()
