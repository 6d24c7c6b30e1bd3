// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tuner/app/place.hpp"

/// Commands for people to type: their words mean themselves to a shell.
namespace tilewright::app {

/// As it is where nothing in it means anything to a shell, else quoted.
[[nodiscard]] std::string shell_word(const std::string& text);
/// " --cache FILE" where it is not the default.
[[nodiscard]] std::string cache_option(const Place& place);
/// " --ops DIR" for each folder, which may be typed in any folder.
[[nodiscard]] std::string ops_options(const Place& place);

}  // namespace tilewright::app
