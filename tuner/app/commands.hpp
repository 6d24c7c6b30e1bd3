// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tuner/app/place.hpp"

/// Commands for people to type into a shell.
namespace tilewright::app {

/// The text, quoted if it has characters that a shell interprets.
[[nodiscard]] std::string shell_word(const std::string& text);
/// " --cache FILE", or empty for the default cache.
[[nodiscard]] std::string cache_option(const Place& place);
/// " --ops DIR" for each folder, as an absolute path.
[[nodiscard]] std::string ops_options(const Place& place);

}  // namespace tilewright::app
