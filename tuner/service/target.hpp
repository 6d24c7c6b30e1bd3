// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Decodes the path and the query of a request's target. Pure functions, for any thread.
namespace tilewright::service {

struct Target {
  /// "/v1/query"
  std::string path;
  /// In the order sent; names may repeat.
  std::vector<std::pair<std::string, std::string>> query;
};

/// Pairs that a query may have.
inline constexpr std::size_t kMostNames = 64;

/// Nullopt if the target is not an absolute path, or has broken escapes, control characters, invalid UTF-8 or more than
/// kMostNames pairs. Paths are compared with routes, not with files: `..` has no meaning.
[[nodiscard]] std::optional<Target> parse_target(std::string_view target);

/// Valid UTF-8 without control characters: safe for JSON and terminals.
[[nodiscard]] bool is_plain_utf8(std::string_view text) noexcept;

}  // namespace tilewright::service
