// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace tilewright {

/// The SHA-256 of a file's bytes, as 64 hexadecimal digits.
[[nodiscard]] std::string sha256_of(const std::filesystem::path& file);

}  // namespace tilewright
