// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "cache/driver/shared_library.hpp"

/// The NVRTC entry points that Tilewright calls, with their C types. They are the same from version 12.0 on, so
/// building needs no CUDA header. A table is filled once, then read by any thread.
namespace tilewright {

using NvrtcProgram = struct NvrtcProgramHandle*;

/// The results that Tilewright distinguishes, with NVRTC's numbers.
enum class NvrtcResult : int {
  success = 0,
  out_of_memory = 1,
  invalid_option = 5,
  compilation = 6,
  builtin_operation_failure = 7,
  name_expression_not_valid = 10,
  internal_error = 11,
};

struct NvrtcTable {
  /// Opens the library. `library` then tells whether it could be opened, and what it lacks.
  explicit NvrtcTable(std::string file) : library(std::move(file)) {}

  SharedLibrary library;
  NvrtcResult (*version)(int* major, int* minor) = library.find<NvrtcResult(int*, int*)>("nvrtcVersion");
  const char* (*error_string)(NvrtcResult result) = library.find<const char*(NvrtcResult)>("nvrtcGetErrorString");
  NvrtcResult (*arch_count)(int* count) = library.find<NvrtcResult(int*)>("nvrtcGetNumSupportedArchs");
  NvrtcResult (*archs)(int* archs) = library.find<NvrtcResult(int*)>("nvrtcGetSupportedArchs");
  NvrtcResult (*create)(NvrtcProgram* program, const char* source, const char* name, int header_count,
                        const char* const* headers, const char* const* header_names) =
      library.find<NvrtcResult(NvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*)>(
          "nvrtcCreateProgram");
  NvrtcResult (*destroy)(NvrtcProgram* program) = library.find<NvrtcResult(NvrtcProgram*)>("nvrtcDestroyProgram");
  NvrtcResult (*add_name)(NvrtcProgram program, const char* expression) =
      library.find<NvrtcResult(NvrtcProgram, const char*)>("nvrtcAddNameExpression");
  NvrtcResult (*lowered_name)(NvrtcProgram program, const char* expression, const char** name) =
      library.find<NvrtcResult(NvrtcProgram, const char*, const char**)>("nvrtcGetLoweredName");
  NvrtcResult (*compile)(NvrtcProgram program, int option_count, const char* const* options) =
      library.find<NvrtcResult(NvrtcProgram, int, const char* const*)>("nvrtcCompileProgram");
  NvrtcResult (*log_size)(NvrtcProgram program, std::size_t* size) =
      library.find<NvrtcResult(NvrtcProgram, std::size_t*)>("nvrtcGetProgramLogSize");
  NvrtcResult (*log)(NvrtcProgram program,
                     char* text) = library.find<NvrtcResult(NvrtcProgram, char*)>("nvrtcGetProgramLog");
  NvrtcResult (*cubin_size)(NvrtcProgram program, std::size_t* size) =
      library.find<NvrtcResult(NvrtcProgram, std::size_t*)>("nvrtcGetCUBINSize");
  NvrtcResult (*cubin)(NvrtcProgram program,
                       char* bytes) = library.find<NvrtcResult(NvrtcProgram, char*)>("nvrtcGetCUBIN");
  NvrtcResult (*ptx_size)(NvrtcProgram program,
                          std::size_t* size) = library.find<NvrtcResult(NvrtcProgram, std::size_t*)>("nvrtcGetPTXSize");
  NvrtcResult (*ptx)(NvrtcProgram program, char* text) = library.find<NvrtcResult(NvrtcProgram, char*)>("nvrtcGetPTX");
};

}  // namespace tilewright
