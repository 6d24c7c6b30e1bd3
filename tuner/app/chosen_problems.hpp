// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/app/place.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/definition/catalogue.hpp"
#include "tuner/definition/space.hpp"

/// Chooses the problems to check or time: one that is named whole, tuned or not, or those with winners in a cache.
namespace tilewright::app {

struct ChosenProblem {
  /// Owned by the catalogue.
  const OpDefinition* definition = nullptr;
  Problem problem;
  /// The winner on the device; nullopt if there is none, or if the definition no longer has its config.
  std::optional<WinnerRow> winner;
};

/// The named problem, if all dims have one value each; else the problems of the op's winners on this device and mode
/// that match `words`. Without words, those of all ops. If `cache` is null, the problem must be named. Adds the winners
/// left out, and why, to `notes`. Throws UsageError for unreadable words, Error if no winner fits.
[[nodiscard]] std::vector<ChosenProblem> choose_problems(const std::optional<ProblemWords>& words, const Place& place,
                                                         Catalogue& catalogue, const Store* cache,
                                                         const DeviceFacts& device, MeasureMode mode,
                                                         std::vector<std::string>& notes);

/// Opens the cache to run its binaries; nullopt if there is no file. Throws CacheError if others may write it.
[[nodiscard]] std::optional<Store> open_if_there(const Place& place);

}  // namespace tilewright::app
