// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/model/records.hpp"

/// What a bound of trials or time left untried of a winner's configs.
namespace tilewright {

/// The reason in Selection::pruned for which they are counted.
inline constexpr const char* kNotReached = "not reached within the bound of trials or time";

/// Of the configs considered, those not reached.
[[nodiscard]] inline int configs_not_reached(const Winner& winner) {
  const auto found = winner.choice.pruned.find(kNotReached);
  return found == winner.choice.pruned.end() ? 0 : found->second;
}

}  // namespace tilewright
