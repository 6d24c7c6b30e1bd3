// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// Splits device code into its compiler's tokens. A pure function.
namespace tilewright::reading {

/// The tokens of `text`, one per line, without comments, white space and line continuations: texts that differ only in
/// these have equal tokens. Literals stay unchanged. An empty line ends a directive, and `#define NAME(` differs from
/// `#define NAME (`. Text that no compiler accepts is kept character by character.
[[nodiscard]] std::string tokens_of(std::string_view text);

}  // namespace tilewright::reading
