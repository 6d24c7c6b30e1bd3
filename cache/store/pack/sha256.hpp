// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace tilewright {

/// The SHA-256 of a file's bytes, as 64 hexadecimal digits: sha256_file() by OpenSSL, which uses the processor's
/// instructions for it. Large snapshots are checked so. Throws Error if the file cannot be read.
[[nodiscard]] std::string sha256_of(const std::filesystem::path& file);

}  // namespace tilewright
