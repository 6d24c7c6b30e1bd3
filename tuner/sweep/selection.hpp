// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "tuner/definition/space.hpp"

/// Chooses the configs that a sweep considers under `--max-configs`. Pure.
namespace tilewright {

/// At most `most` of `legal` (0: all), in their order: always the base, equally many per implementation, and within one
/// the first by a hash of their text. The choice looks random but is reproducible. All shapes prefer the same configs,
/// so that they share binaries.
[[nodiscard]] std::vector<Candidate> select_candidates(std::vector<Candidate> legal, std::size_t most,
                                                       const Config& base);

}  // namespace tilewright
