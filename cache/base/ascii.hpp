// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// ASCII, whatever the locale, and base64. Pure functions, for any thread.
namespace tilewright {

[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
/// A letter or an underscore.
[[nodiscard]] constexpr bool is_word_start(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
[[nodiscard]] constexpr bool is_word_part(char c) noexcept { return is_word_start(c) || is_digit(c); }

/// Changes A to Z to lower case; all other bytes stay.
[[nodiscard]] std::string lower(std::string_view text);
/// RFC 4648, with padding.
[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace tilewright
