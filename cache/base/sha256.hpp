// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

/// SHA-256 (FIPS 180-4), for what an application links, which brings no OpenSSL. Pure functions, for any thread.
namespace tilewright {

/// 64 lower-case hexadecimal digits.
[[nodiscard]] std::string sha256_text(std::string_view bytes);
/// The SHA-256 of a file's bytes. Throws CacheError where the file cannot be read.
[[nodiscard]] std::string sha256_file(const std::filesystem::path& file);

/// The 64 digits of "sha256:…", as people name a file; nothing for what is none.
[[nodiscard]] std::optional<std::string> sha256_named(std::string_view name);
/// So many lower-case hexadecimal digits.
[[nodiscard]] bool is_hexadecimal(std::string_view text, std::size_t digits) noexcept;

}  // namespace tilewright
