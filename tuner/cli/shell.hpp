// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tuner/cli/arguments.hpp"

/// Commands that are told to be typed: what stands in them means itself to a shell.
namespace tilewright::cli {

/// As it is where nothing in it means anything to a shell, else quoted.
[[nodiscard]] std::string shell_word(const std::string& text);
/// " --cache FILE" where the default is not meant.
[[nodiscard]] std::string cache_option(const Arguments& arguments);
/// " --ops DIR" for each of --ops, which may be typed in any folder.
[[nodiscard]] std::string ops_options(const Arguments& arguments);

}  // namespace tilewright::cli
