// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "cache/model/records.hpp"

/// From winners of the burst to winners under load (docs/tuning.md). Pure.
namespace tilewright {

/// Times under load, by candidate.
using Loads = std::map<std::size_t, Sustained>;

/// Puts in the place of the winners `best` and `dynamic` the one that is fastest under load of those that were loaded
/// and still stand, by `trials` (by candidate). Where its 95 % interval and that of the burst's winner overlap, the
/// latter stays. The runner-up is the next one under load; margin and ties are of the burst, and go.
void choose_under_load(std::vector<Winner>& winners, const Loads& loads,
                       const std::vector<std::optional<Trial>>& trials);

/// Keeps earlier times under load beside the winners of the burst.
void keep_loads(const std::vector<Winner>& stored, std::vector<Winner>& winners);

}  // namespace tilewright
