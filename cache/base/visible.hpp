// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// Text that may come from a file of others, for a terminal, which would obey its control characters.
namespace tilewright {

/// `text` with control characters but tabs and line ends as JSON spells them: `\u001b`. Delete and U+0080 to U+009F,
/// which JSON's writers leave as they are, are spelled so inside JSON, too, where it means the same.
[[nodiscard]] std::string visible(std::string_view text);

/// The same for what must stay on its line: tabs and line ends are spelled, too.
[[nodiscard]] std::string visible_line(std::string_view text);

}  // namespace tilewright
