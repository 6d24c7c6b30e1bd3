# SPDX-License-Identifier: Apache-2.0
# tilewright_test(NAME LABEL unit|cli|launch|gpu|install
#   SOURCES file...  [LIBS target...]  [DEFINITIONS NAME=value...]  [SLOW gtest-filter]  [SANITIZED address|thread...])
#
# Adds the GoogleTest program NAME and one CTest test for each TEST in it, named NAME.Suite.test, with the label.
# Tests that SLOW matches have the label slow instead: scripts/test --all runs them. CI runs SANITIZED programs with
# these sanitizers and not without (scripts/lib/test_sanitized): in a build with one of them the target
# sanitized_tests builds them, and two tests of the label whole run each program, half of its tests in one process.
# Tests are listed when CTest starts and not when the program is built, so that a build for a machine of another kind
# works. The user's own cache is out of reach of every test. Programs labelled gpu are in the bundle.
include(GoogleTest)

option(TILEWRIGHT_LEAVE_OUT_SANITIZED "Leave out the test programs that CI runs with a sanitizer" OFF)
mark_as_advanced(TILEWRIGHT_LEAVE_OUT_SANITIZED)
add_custom_target(sanitized_tests)

# Tests are compiled once and run once: the compile time counts. The code under test keeps its own flags. ccache asks
# GCC for -fpch-preprocess.
set(tilewright_test_options -O0 $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)

# The precompiled header of all test programs, whose flags must be theirs: it is one itself, with no test.
function(tilewright_add_test_headers)
  set(empty "${PROJECT_BINARY_DIR}/tests/headers.cpp")
  file(CONFIGURE OUTPUT "${empty}" CONTENT "")
  add_executable(tilewright_test_headers "${empty}")
  target_link_libraries(tilewright_test_headers PRIVATE
    tilewright_options tilewright::fmt nlohmann_json::nlohmann_json GTest::gmock GTest::gtest_main)
  target_compile_options(tilewright_test_headers PRIVATE ${tilewright_test_options})
  target_precompile_headers(tilewright_test_headers PRIVATE
    <gmock/gmock.h> <gtest/gtest.h> <fmt/format.h> <nlohmann/json.hpp> <filesystem> <fstream> <functional> <map>
    <memory> <optional> <sstream> <string> <vector>)
endfunction()

function(tilewright_test NAME)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;SLOW" "SOURCES;LIBS;DEFINITIONS;SANITIZED")
  if(NOT arg_LABEL MATCHES "^(unit|cli|launch|gpu|install)$")
    message(FATAL_ERROR "tilewright_test(${NAME}): LABEL must be unit, cli, launch, gpu or install, "
      "and is '${arg_LABEL}'")
  endif()
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "tilewright_test(${NAME}): SOURCES are needed, and this is not understood: "
      "'${arg_UNPARSED_ARGUMENTS}'")
  endif()
  add_executable(${NAME} ${arg_SOURCES})
  target_link_libraries(${NAME} PRIVATE
    tilewright_options tilewright_static_runtime ${arg_LIBS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${NAME} PRIVATE ${arg_DEFINITIONS})
  target_compile_options(${NAME} PRIVATE ${tilewright_test_options})
  if(NOT TARGET tilewright_test_headers)
    tilewright_add_test_headers()
  endif()
  target_precompile_headers(${NAME} REUSE_FROM tilewright_test_headers)
  set_target_properties(${NAME} PROPERTIES BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN/../lib")
  if(arg_SANITIZED AND TILEWRIGHT_LEAVE_OUT_SANITIZED)
    set_target_properties(${NAME} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  set(discovery TEST_PREFIX "${NAME}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 300)
  set(environment "XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/tests/home/.cache")
  string(REGEX MATCH "^[a-z]+" sanitizer "${TILEWRIGHT_SANITIZE}")
  if(sanitizer IN_LIST arg_SANITIZED)
    add_dependencies(sanitized_tests ${NAME})
    foreach(half 0 1)
      add_test(NAME ${NAME}.whole.${half} COMMAND ${NAME})
      set_tests_properties(${NAME}.whole.${half} PROPERTIES LABELS whole
        ENVIRONMENT "${environment};GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=${half}")
    endforeach()
  endif()
  if(arg_SLOW)
    gtest_discover_tests(${NAME} ${discovery} TEST_FILTER "${arg_SLOW}" TEST_LIST ${NAME}_slow
      PROPERTIES LABELS slow ENVIRONMENT "${environment}")
    set(arg_SLOW "-${arg_SLOW}")
  endif()
  gtest_discover_tests(${NAME} ${discovery} TEST_FILTER "${arg_SLOW}"
    PROPERTIES LABELS ${arg_LABEL} ENVIRONMENT "${environment}")
  if(arg_LABEL STREQUAL gpu AND TILEWRIGHT_INSTALL)
    install(TARGETS ${NAME} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT bundle EXCLUDE_FROM_ALL)
  endif()
endfunction()

# tilewright_benchmark(NAME SOURCES file... [LIBS target...])
#
# Adds the Google Benchmark program NAME, and a CTest test that runs it briefly, so that it stays alive: one that fails
# says so and exits with 0. It skips where the machine has not what it measures. Those named *_gpu_* are part of the
# bundle; the others stand on the recording driver, which stays in the build tree.
function(tilewright_benchmark NAME)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  add_executable(${NAME} ${arg_SOURCES})
  target_link_libraries(${NAME} PRIVATE tilewright_options ${arg_LIBS} benchmark::benchmark_main)
  set_target_properties(${NAME} PROPERTIES BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN/../lib")
  add_test(NAME ${NAME} COMMAND ${NAME} --benchmark_min_time=0.001)
  set_tests_properties(${NAME} PROPERTIES LABELS unit FAIL_REGULAR_EXPRESSION "ERROR OCCURRED"
    SKIP_REGULAR_EXPRESSION "ERROR OCCURRED: '(the CUDA driver was not found|there is no GPU|[^']* is not there: build)"
    ENVIRONMENT "XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/tests/home/.cache")
  if(TILEWRIGHT_INSTALL AND NAME MATCHES "_gpu_")
    install(TARGETS ${NAME} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT bundle EXCLUDE_FROM_ALL)
  endif()
endfunction()
