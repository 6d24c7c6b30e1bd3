// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

/// Where files go that are gone with the program.
namespace tilewright {

/// TMPDIR, else /tmp. Throws Error where there is no such folder; `doing` completes "cannot …": "keep binaries".
[[nodiscard]] std::filesystem::path temporary_folder(std::string_view doing);

}  // namespace tilewright
