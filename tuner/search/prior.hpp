// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "tuner/search/strategy.hpp"

/// Expected times of a problem's candidates from the trials of other shapes, before any look (docs/tuning.md). Pure.
namespace tilewright {

/// Each candidate's expected loss, the natural logarithm of its time over the best's. Zeros if nothing is known.
[[nodiscard]] std::vector<double> expected_losses(const SearchSpace& space);

/// The candidates most like the winners of the neighbours, `most` at most: of one of the same dims, then of the
/// nearest.
[[nodiscard]] std::vector<std::size_t> winners_around(const SearchSpace& space, std::size_t most);

/// Three winners_around(), then the candidates by rising expected loss. If nothing is known, drawn by the seed, from
/// each implementation in turn.
[[nodiscard]] std::vector<std::size_t> by_merit(const SearchSpace& space);

}  // namespace tilewright
