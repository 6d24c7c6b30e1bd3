// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cache/model/records.hpp"
#include "tuner/analysis/intervals.hpp"

/// The configs that may still be the fastest, by their intervals: a race goes on with them, and they meet in the final.
/// Pure.
namespace tilewright {

/// As many are timed in turns at the end, for each role: the best of all, and the best without specialised dims.
inline constexpr std::size_t kMostFinalists = 6;

/// The indices of those whose likely time does not lie above that of the fastest of their role, fastest first.
struct Leaders {
  std::vector<std::size_t> best;
  std::vector<std::size_t> dynamic;
};
[[nodiscard]] Leaders leaders(const std::vector<std::optional<Trial>>& trials);

/// The candidates that must be timed in turns, or alone, with no compiler running, before winners are named: all
/// leaders; none when those of each role met in one final already.
[[nodiscard]] std::vector<std::size_t> finalists(const std::vector<std::optional<Trial>>& trials);

}  // namespace tilewright
