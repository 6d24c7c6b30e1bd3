// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/model/records.hpp"

/// Configs of a winner's problem that a bound of trials or time left untried.
namespace tilewright {

/// Their reason in Selection::pruned.
inline constexpr const char* kNotReached = "not reached within the bound of trials or time";

/// The number of considered configs that were not reached.
[[nodiscard]] inline int configs_not_reached(const Winner& winner) {
  const auto found = winner.choice.pruned.find(kNotReached);
  return found == winner.choice.pruned.end() ? 0 : found->second;
}

}  // namespace tilewright
