# SPDX-License-Identifier: Apache-2.0
# The libraries used, all from the system's packages. Static archives are taken where they exist, so
# that what is shipped needs glibc alone. Link these names:
#
#   tilewright::fmt  nlohmann_json::nlohmann_json  Threads::Threads
#   tilewright::sqlite (SQLiteCpp and SQLite)  tilewright::zstd  tilewright::xxhash
#   tilewright::crypto (of OpenSSL, for packs)
# and for the tuner:
#   tilewright::tomlplusplus (header only)  tilewright::boost_context
#   tilewright::boost_program_options  tilewright::ssl (of OpenSSL)
#   tilewright::zlib
#   tilewright::benchmark (of which Debian has the shared library alone)

# Adds the imported target tilewright::NAME for the archive (or else the shared library) LIBRARY,
# whose headers are found by HEADER.
function(tilewright_import_library NAME LIBRARY HEADER)
  find_library(TILEWRIGHT_${NAME}_LIBRARY NAMES lib${LIBRARY}.a ${LIBRARY} REQUIRED)
  find_path(TILEWRIGHT_${NAME}_INCLUDE_DIR NAMES ${HEADER} REQUIRED)
  mark_as_advanced(TILEWRIGHT_${NAME}_LIBRARY TILEWRIGHT_${NAME}_INCLUDE_DIR)
  add_library(tilewright::${NAME} UNKNOWN IMPORTED)
  set_target_properties(tilewright::${NAME} PROPERTIES
    IMPORTED_LOCATION "${TILEWRIGHT_${NAME}_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${TILEWRIGHT_${NAME}_INCLUDE_DIR}")
endfunction()

find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
# fmt's headers come from the system, its compiled half from one file of ours (which says why).
add_library(tilewright_fmt STATIC "${PROJECT_SOURCE_DIR}/cache/base/fmt_library.cpp")
add_library(tilewright::fmt ALIAS tilewright_fmt)
target_include_directories(tilewright_fmt SYSTEM PUBLIC
  $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
set_target_properties(tilewright_fmt PROPERTIES
  CXX_STANDARD 20 CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON
  CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
find_package(nlohmann_json 3.11 REQUIRED)
tilewright_import_library(zstd zstd zstd.h)
tilewright_import_library(xxhash xxhash xxhash.h)
tilewright_import_library(sqlite3 sqlite3 sqlite3.h)
tilewright_import_library(sqlite SQLiteCpp SQLiteCpp/SQLiteCpp.h)
# The definition is the one that Debian's SQLiteCpp was compiled with: its headers need it too.
target_compile_definitions(tilewright::sqlite INTERFACE SQLITE_ENABLE_COLUMN_METADATA)
target_link_libraries(tilewright::sqlite INTERFACE
  tilewright::sqlite3 Threads::Threads ${CMAKE_DL_LIBS} m)

# Of packs, which a wheel's winners are folded from; the launch library alone needs none of it.
find_path(TILEWRIGHT_crypto_INCLUDE_DIR NAMES openssl/evp.h)
if(TILEWRIGHT_BUILD_TUNER OR (PROJECT_IS_TOP_LEVEL AND TILEWRIGHT_crypto_INCLUDE_DIR))
  tilewright_import_library(crypto crypto openssl/evp.h)
endif()
if(TILEWRIGHT_BUILD_TUNER)
  find_path(TILEWRIGHT_tomlplusplus_INCLUDE_DIR NAMES toml++/toml.h REQUIRED)
  mark_as_advanced(TILEWRIGHT_tomlplusplus_INCLUDE_DIR)
  add_library(tilewright::tomlplusplus INTERFACE IMPORTED)
  target_include_directories(tilewright::tomlplusplus INTERFACE
    "${TILEWRIGHT_tomlplusplus_INCLUDE_DIR}")
  target_compile_definitions(tilewright::tomlplusplus INTERFACE TOML_HEADER_ONLY=1)
  # Blocks of the report's page.
  tilewright_import_library(zlib z zlib.h)
  tilewright_import_library(boost_context boost_context boost/context/detail/fcontext.hpp)
  tilewright_import_library(boost_program_options boost_program_options boost/program_options.hpp)
  find_path(TILEWRIGHT_beast_INCLUDE_DIR NAMES boost/beast/version.hpp REQUIRED)
  mark_as_advanced(TILEWRIGHT_beast_INCLUDE_DIR)
  tilewright_import_library(ssl ssl openssl/ssl.h)
  target_link_libraries(tilewright::ssl INTERFACE tilewright::crypto)
  tilewright_import_library(benchmark benchmark benchmark/benchmark.h)
  target_link_libraries(tilewright::benchmark INTERFACE Threads::Threads)
endif()
if(TILEWRIGHT_BUILD_TESTS)
  find_package(GTest 1.12 REQUIRED)
  find_package(benchmark 1.7 REQUIRED)
endif()
