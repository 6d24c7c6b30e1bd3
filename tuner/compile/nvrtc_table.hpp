// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// The NVRTC entry points that Tilewright calls, with their C types. They are the same from version 12.0 on, so
/// building needs no CUDA header. nvrtc_library.cpp fills the table.
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
  NvrtcResult (*version)(int* major, int* minor) = nullptr;
  const char* (*error_string)(NvrtcResult result) = nullptr;
  NvrtcResult (*arch_count)(int* count) = nullptr;
  NvrtcResult (*archs)(int* archs) = nullptr;
  NvrtcResult (*create)(NvrtcProgram* program, const char* source, const char* name, int header_count,
                        const char* const* headers, const char* const* header_names) = nullptr;
  NvrtcResult (*destroy)(NvrtcProgram* program) = nullptr;
  NvrtcResult (*add_name)(NvrtcProgram program, const char* expression) = nullptr;
  NvrtcResult (*lowered_name)(NvrtcProgram program, const char* expression, const char** name) = nullptr;
  NvrtcResult (*compile)(NvrtcProgram program, int option_count, const char* const* options) = nullptr;
  NvrtcResult (*log_size)(NvrtcProgram program, std::size_t* size) = nullptr;
  NvrtcResult (*log)(NvrtcProgram program, char* text) = nullptr;
  NvrtcResult (*cubin_size)(NvrtcProgram program, std::size_t* size) = nullptr;
  NvrtcResult (*cubin)(NvrtcProgram program, char* bytes) = nullptr;
  NvrtcResult (*ptx_size)(NvrtcProgram program, std::size_t* size) = nullptr;
  NvrtcResult (*ptx)(NvrtcProgram program, char* text) = nullptr;
};

}  // namespace tilewright
