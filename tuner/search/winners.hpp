// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "cache/model/records.hpp"
#include "tuner/search/neighbours.hpp"

/// The rule that names winners (docs/tuning.md). It depends only on the trials, their order and the neighbours'
/// winners, so equal figures give equal winners. Pure.
namespace tilewright {

/// The winners of one problem for the roles `best` (all configs), `dynamic` (without specialised dims) and `base` (the
/// op's fallback), as far as they exist. Best and dynamic come from the newest final, or from all configs if there was
/// none, by docs/tuning.md#ties. The runner-up is the next best by median, so its ratio is below 1 if the rule chose
/// among tied configs. `trials` are one problem's in the definition's order, including failures, finals with their
/// rounds. `neighbours` are nearest first.
[[nodiscard]] std::vector<Winner> choose_winners(const std::vector<Trial>& trials, const Config& base,
                                                 const std::string& strategy, const Neighbours& neighbours = {});

}  // namespace tilewright
