// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "cache/serve/candidates.hpp"

/// The config that a cache serves for a problem, with its fit: always both, so that no caller mistakes a fallback for a
/// tuned result.
namespace tilewright {

struct MatchedRow {
  Match match;
  /// Nothing when match.fit is `none`.
  std::optional<WinnerRow> row;
};

/// The first candidate, legal or not. Throws CacheError if there is none and a row could not be read.
[[nodiscard]] MatchedRow match(const WinnerSource& source, const ProblemQuery& query);

}  // namespace tilewright
