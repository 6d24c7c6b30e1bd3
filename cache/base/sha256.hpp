// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// SHA-256 (FIPS 180-4) for libraries of applications, which must not need OpenSSL, and bytes as digits. Pure
/// functions, for any thread.
namespace tilewright {

/// 64 lower-case hexadecimal digits.
[[nodiscard]] std::string sha256_text(std::string_view bytes);
/// The SHA-256 of a file's bytes. Throws CacheError if the file cannot be read.
[[nodiscard]] std::string sha256_file(const std::filesystem::path& file);

/// The 64 digits of "sha256:…", or nullopt if `name` has another form.
[[nodiscard]] std::optional<std::string> sha256_named(std::string_view name);
/// Two lower-case digits for each byte.
[[nodiscard]] std::string hexadecimal(std::span<const unsigned char> bytes);
/// True if `text` has exactly `digits` lower-case hexadecimal digits.
[[nodiscard]] bool is_hexadecimal(std::string_view text, std::size_t digits) noexcept;

}  // namespace tilewright
