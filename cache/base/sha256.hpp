// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

/// SHA-256 (FIPS 180-4), for what an application links, which brings no OpenSSL. Pure functions, for any thread.
namespace tilewright {

/// 64 lower-case hexadecimal digits.
[[nodiscard]] std::string sha256_text(std::string_view bytes);
/// Of a file's bytes. Throws CacheError where it cannot be read.
[[nodiscard]] std::string sha256_file(const std::filesystem::path& file);

}  // namespace tilewright
