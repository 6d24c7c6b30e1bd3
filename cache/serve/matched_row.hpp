// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "cache/serve/fit.hpp"
#include "cache/serve/winner_source.hpp"

namespace tilewright {

/// The config that a cache serves for a problem, always with its fit, so that no caller mistakes a fallback for a tuned
/// result.
struct MatchedRow {
  Match match;
  /// nullopt if match.fit is `none`.
  std::optional<WinnerRow> row;
};

}  // namespace tilewright
