// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// Untrusted text for a terminal, which would obey its control characters. Pure functions.
namespace tilewright {

/// Spells control characters, except tabs and line ends, as JSON does: `\u001b`. This includes delete and U+0080 to
/// U+009F, which JSON's writers leave as they are; inside JSON the spelling means the same.
[[nodiscard]] std::string visible(std::string_view text);

/// As visible(), with tabs and line ends spelled as well, for text that must stay on its line.
[[nodiscard]] std::string visible_line(std::string_view text);

}  // namespace tilewright
