// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tuner/cli/verb.hpp"

/// Man pages, from the table of verbs: tilewright.1 and one for each verb, in the macros of man(7).
namespace tilewright::cli {

[[nodiscard]] std::string man_page(const Verb& verb);
/// tilewright.1
[[nodiscard]] std::string man_page_of_program();
/// Writes all man pages into `folder`, which is made if absent, and returns their paths. Throws Error.
std::vector<std::filesystem::path> write_man_pages(const std::filesystem::path& folder);

}  // namespace tilewright::cli
