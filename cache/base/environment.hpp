// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string_view>

/// Environment variables.
namespace tilewright {

/// True when the variable has a value that is neither empty nor 0.
[[nodiscard]] inline bool is_set(const char* variable) noexcept {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

/// True when the variable has a value that is not empty.
[[nodiscard]] inline bool is_named(const char* variable) noexcept {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

/// Empty where the variable has no value.
[[nodiscard]] inline std::string_view environment(const char* variable) noexcept {
  const char* value = std::getenv(variable);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

/// `$XDG_CACHE_HOME/tilewright`, else `~/.cache/tilewright`; empty where neither is said. As the XDG specification has
/// it, a folder that is not absolute is ignored.
[[nodiscard]] inline std::filesystem::path user_cache_folder() {
  const std::filesystem::path caches = environment("XDG_CACHE_HOME"), home = environment("HOME");
  if (caches.is_absolute()) return caches / "tilewright";
  return home.is_absolute() ? home / ".cache" / "tilewright" : std::filesystem::path();
}

}  // namespace tilewright
