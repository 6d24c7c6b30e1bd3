// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tuner/cli/verb.hpp"

/// Help, made from the table of verbs: for a terminal, and as docs/cli.md, which holds the very same text.
namespace tilewright::cli {

/// `tilewright VERB --help`
[[nodiscard]] std::string help_text(const Verb& verb);
/// `tilewright help`
[[nodiscard]] std::string overview_text();
/// The whole of docs/cli.md.
[[nodiscard]] std::string markdown_text();

}  // namespace tilewright::cli
