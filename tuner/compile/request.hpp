// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tuner/compile/compiler.hpp"
#include "tuner/compile/source.hpp"

/// From generated source to what a compiler is asked for.
namespace tilewright {

/// Folders that kernels include from when compiled for `arch`: `device/…` is found in the last.
[[nodiscard]] std::vector<std::filesystem::path> include_dirs(const std::filesystem::path& builtin_dir,
                                                              const std::string& arch);

/// The request for one generated source.
[[nodiscard]] CompileRequest compile_request(const GeneratedSource& source, const std::string& arch,
                                             const std::filesystem::path& builtin_dir);

/// The compiler's own words in one line: the first that says "error", else the first at all. For a trial's reason.
[[nodiscard]] std::string first_error(const std::string& log);

}  // namespace tilewright
