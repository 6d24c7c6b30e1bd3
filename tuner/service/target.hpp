// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The path and the query of a request's target, decoded. Pure functions, for any thread.
namespace tilewright::service {

struct Target {
  /// "/v1/query"
  std::string path;
  /// In the order sent; a name may stand there more than once.
  std::vector<std::pair<std::string, std::string>> query;
};

/// Names and values of a query.
inline constexpr std::size_t kMostNames = 64;

/// Nothing for a target that is no absolute path, has broken escapes, control characters or bytes that are no UTF-8,
/// or too many names. Paths are compared with those of a table and never with files: `..` means nothing.
[[nodiscard]] std::optional<Target> parse_target(std::string_view target);

/// Whether nlohmann's JSON and a terminal can have it.
[[nodiscard]] bool is_plain_utf8(std::string_view text) noexcept;

}  // namespace tilewright::service
