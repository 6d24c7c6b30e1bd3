// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// ASCII lower case and base64. Pure functions, for any thread.
namespace tilewright {

/// Changes A to Z to lower case; all other bytes stay.
[[nodiscard]] std::string lower(std::string_view text);
/// RFC 4648, with padding.
[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace tilewright
