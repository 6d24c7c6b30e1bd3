// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string_view>

/// Reads environment variables.
namespace tilewright {

/// True if the variable is set and neither empty nor "0".
[[nodiscard]] inline bool is_set(const char* variable) noexcept {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

/// True if the variable is set and not empty.
[[nodiscard]] inline bool is_named(const char* variable) noexcept {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

/// The variable's value; empty if it is not set.
[[nodiscard]] inline std::string_view environment(const char* variable) noexcept {
  const char* value = std::getenv(variable);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

/// `$XDG_CACHE_HOME/tilewright`, else `~/.cache/tilewright`; empty if neither variable is set. A relative folder is
/// ignored, as the XDG specification says.
[[nodiscard]] inline std::filesystem::path user_cache_folder() {
  const std::filesystem::path caches = environment("XDG_CACHE_HOME"), home = environment("HOME");
  if (caches.is_absolute()) return caches / "tilewright";
  return home.is_absolute() ? home / ".cache" / "tilewright" : std::filesystem::path();
}

}  // namespace tilewright
