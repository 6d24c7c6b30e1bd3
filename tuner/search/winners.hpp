// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "cache/model/records.hpp"
#include "tuner/search/neighbours.hpp"

/// The rule that names winners (docs/tuning.md). It depends on the trials, their order and the neighbours' winners
/// alone, so the same figures give the same winner every time. Pure.
namespace tilewright {

/// The winners of one problem: rows for the roles `best` (all configs), `dynamic` (those without specialised dims) and
/// `base` (the op's fallback), those that exist. Best and dynamic are chosen among the configs of the newest final, or
/// among all where none was held, by docs/tuning.md#ties. The runner-up is the next best by median, so its ratio is
/// below 1 where the rule chose among tied configs. `trials` are one problem's, in the definition's order, failures
/// included; those of a final with their rounds. `neighbours` are nearest first.
[[nodiscard]] std::vector<Winner> choose_winners(const std::vector<Trial>& trials, const Config& base,
                                                 const std::string& strategy, const Neighbours& neighbours = {});

}  // namespace tilewright
