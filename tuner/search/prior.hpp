// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "tuner/search/strategy.hpp"

/// The times expected of a problem's candidates by the trials of other shapes, before any candidate was looked at
/// (docs/tuning.md). Pure.
namespace tilewright {

/// The expected loss of each candidate, a natural logarithm of its time over the best's; zeros where nothing is known.
[[nodiscard]] std::vector<double> expected_losses(const SearchSpace& space);

/// The candidates, the least expected loss first; where nothing is known, drawn by the seed, of each implementation in
/// turn.
[[nodiscard]] std::vector<std::size_t> by_merit(const SearchSpace& space);

}  // namespace tilewright
