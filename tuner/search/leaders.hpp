// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cache/model/records.hpp"
#include "tuner/analysis/intervals.hpp"

/// The configs that may be the fastest by their intervals. They meet in the final. Pure.
namespace tilewright {

/// The most finalists per role: the best of all, and the best without specialised dims.
inline constexpr std::size_t kMostFinalists = 6;

/// Indices of trials whose likely time does not lie above that of their role's fastest, fastest first.
struct Leaders {
  std::vector<std::size_t> best;
  std::vector<std::size_t> dynamic;
};
[[nodiscard]] Leaders leaders(const std::vector<std::optional<Trial>>& trials);

/// The candidates that must be timed in turns with no compiler running, or alone, before winners are named. All
/// leaders, up to kMostFinalists per role; empty if each role's leaders already met in one final.
[[nodiscard]] std::vector<std::size_t> finalists(const std::vector<std::optional<Trial>>& trials);

}  // namespace tilewright
