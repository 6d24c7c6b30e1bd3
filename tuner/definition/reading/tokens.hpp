// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// Device code as its compiler understands it. A pure function.
namespace tilewright::reading {

/// The tokens of `text`, one a line: comments, white space and line continuations are gone, so that texts which differ
/// in nothing else have the same. Literals stay as they are. A directive ends in an empty line, and `#define NAME(` is
/// told from `#define NAME (`. Text that no compiler takes stays as it is, character by character.
[[nodiscard]] std::string tokens_of(std::string_view text);

}  // namespace tilewright::reading
