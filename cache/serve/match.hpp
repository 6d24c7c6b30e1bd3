// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "cache/serve/candidates.hpp"

/// The config that a cache serves for a problem, always with its fit, so that no caller mistakes a fallback for a tuned
/// result.
namespace tilewright {

struct MatchedRow {
  Match match;
  /// nullopt if match.fit is `none`.
  std::optional<WinnerRow> row;
};

/// The first candidate without a ban, legal or not. Throws CacheError if there is none and a row could not be read.
[[nodiscard]] MatchedRow match(const WinnerSource& source, const ProblemQuery& query);

}  // namespace tilewright
