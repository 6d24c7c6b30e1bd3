// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// Texts of other programs' formats. Pure functions.
namespace tilewright {

/// A to Z in lower case; all other bytes stay.
[[nodiscard]] std::string lower(std::string_view text);
/// RFC 4648, with padding.
[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace tilewright
