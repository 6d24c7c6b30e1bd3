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
/// `base` (the op's fallback), those that exist. `trials` are one problem's, in the definition's order, failures
/// included; those of a final with their rounds. `neighbours` are nearest first.
///
/// For best and for dynamic alike: where a final was held, those that met in the newest one are compared, else all. The
/// one with the smallest median is the fastest. Tied with it is whose median is within 1 % of its and whose time cannot
/// be told from its: the 95 % interval of the ratio of their rounds, pair by pair, holds 1; without a common final,
/// their intervals overlap. Of the tied wins the one that serves the nearest neighbour that any of them serves, else
/// the one first in the definition's order. The runner-up is the next best by median, so its ratio is below 1 where the
/// rule chose among tied configs.
[[nodiscard]] std::vector<Winner> choose_winners(const std::vector<Trial>& trials, const Config& base,
                                                 const std::string& strategy, const Neighbours& neighbours = {});

}  // namespace tilewright
