// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tuner/cli/verb.hpp"

/// Help from the table of verbs: for a terminal, and as docs/cli.md, with the same text. Man pages use the same values
/// (man_page.hpp).
namespace tilewright::cli {

/// `tilewright VERB --help`
[[nodiscard]] std::string help_text(const Verb& verb);
/// An environment variable that the program reads, and its meaning.
struct Variable {
  std::string name;
  std::string says;
};
[[nodiscard]] const std::vector<Variable>& variables();
/// The meaning of the exit codes of `verb`, or of the program if it is null.
[[nodiscard]] std::string exit_codes(const Verb* verb);

/// `tilewright help`
[[nodiscard]] std::string overview_text();
/// The whole of docs/cli.md.
[[nodiscard]] std::string markdown_text();

}  // namespace tilewright::cli
