# SPDX-License-Identifier: Apache-2.0
# How every target of this tree is compiled and linked. Only target properties are used, so that a
# project which adds this one as a subdirectory keeps its own settings.
#
#   tilewright_options         language level, warnings, sanitizers, root-relative includes
#   tilewright_static_runtime  links libstdc++ and libgcc statically: for what is shipped

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(TILEWRIGHT_CCACHE ccache)
    mark_as_advanced(TILEWRIGHT_CCACHE)
    if(TILEWRIGHT_CCACHE)
      # Clones and worktrees share what is compiled; the sloppiness is what precompiled headers need. What a source
      # includes is read from the compiler's list, so that nothing is preprocessed twice.
      set(launcher "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}"
        CCACHE_DEPEND=1
        CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime "${TILEWRIGHT_CCACHE}")
      set(CMAKE_C_COMPILER_LAUNCHER "${launcher}")
      set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher}")
    endif()
  endif()
endif()
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# One layout for the build tree and the install tree: a program finds its data beside itself.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_EXTENSIONS OFF)

add_library(tilewright_options INTERFACE)
target_compile_features(tilewright_options INTERFACE cxx_std_20)
target_include_directories(tilewright_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(tilewright_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  $<$<BOOL:${TILEWRIGHT_WARNINGS_AS_ERRORS}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns of impossible overlaps and overflows inside std::string and fmt once it has inlined them (GCC bug
  # 105651).
  target_compile_options(tilewright_options INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
endif()

if(CMAKE_UNITY_BUILD)
  # Where several sources are compiled as one, locals of one hide privates of another, and all but one seem headers.
  target_compile_options(tilewright_options INTERFACE -Wno-shadow
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
endif()

if(TILEWRIGHT_FUZZ)
  # So that libFuzzer sees which branches an input reaches.
  target_compile_options(tilewright_options INTERFACE -fsanitize=fuzzer-no-link
    "-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/tests/fuzz/ignored.txt")
endif()

add_library(tilewright_static_runtime INTERFACE)
if(TILEWRIGHT_SANITIZE)
  # The sanitizers' own run-time library needs the shared libstdc++.
  target_compile_options(tilewright_options INTERFACE
    -fsanitize=${TILEWRIGHT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    # Functions of the driver are found by name and called by types of our own.
    $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  target_link_options(tilewright_options INTERFACE -fsanitize=${TILEWRIGHT_SANITIZE})
  target_compile_definitions(tilewright_options INTERFACE
    TILEWRIGHT_SANITIZE="${TILEWRIGHT_SANITIZE}")
else()
  target_link_options(tilewright_static_runtime INTERFACE -static-libstdc++ -static-libgcc)
endif()
