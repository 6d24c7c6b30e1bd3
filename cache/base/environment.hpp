// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string_view>

/// Switches of the environment.
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

}  // namespace tilewright
