// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tuner/compile/compiler.hpp"
#include "tuner/compile/source.hpp"

/// Makes compile requests of generated source. Pure.
namespace tilewright {

/// The include folders for `arch`. The last has `device/…`.
[[nodiscard]] std::vector<std::filesystem::path> include_dirs(const std::filesystem::path& builtin_dir,
                                                              const std::string& arch);

[[nodiscard]] CompileRequest compile_request(const GeneratedSource& source, const std::string& arch,
                                             const std::filesystem::path& builtin_dir);

/// For a trial's reason: the first line of the log with "error", else the first line.
[[nodiscard]] std::string first_error(const std::string& log);

}  // namespace tilewright
