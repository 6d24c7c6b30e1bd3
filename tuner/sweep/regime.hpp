// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "cache/model/records.hpp"

/// Derives winners under load from the burst's winners (docs/tuning.md). Pure.
namespace tilewright {

/// Times under load, by candidate.
using Loads = std::map<std::size_t, Sustained>;

/// Replaces the winners `best` and `dynamic` by the fastest loaded config that is still valid in `trials` (by
/// candidate). If its 95 % interval overlaps that of the burst's winner, the latter stays. The runner-up is the next
/// under load; the burst's margin and ties are dropped.
void choose_under_load(std::vector<Winner>& winners, const Loads& loads,
                       const std::vector<std::optional<Trial>>& trials);

/// Copies earlier times under load to the burst's winners.
void keep_loads(const std::vector<Winner>& stored, std::vector<Winner>& winners);

}  // namespace tilewright
