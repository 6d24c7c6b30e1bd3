// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "tuner/definition/space.hpp"

/// Which configs a sweep considers when it may not consider all: `--max-configs`. Pure.
namespace tilewright {

/// At most `most` of `legal` (0: all), in their order: the base always, every implementation with an equal part, and
/// within one the configs that come first by a hash of their text. The choice looks random but is the same every time,
/// and the same configs are preferred for every shape, so that their binaries are shared.
[[nodiscard]] std::vector<Candidate> select_candidates(std::vector<Candidate> legal, std::size_t most,
                                                       const Config& base);

}  // namespace tilewright
