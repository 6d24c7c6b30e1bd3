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

/// The problems that are checked or timed: one that is named whole, tuned or not, or those with winners in a cache.
namespace tilewright::app {

struct ChosenProblem {
  /// The definition, which is the catalogue's.
  const OpDefinition* definition = nullptr;
  Problem problem;
  /// Served for it on the device, as far as the definition still has its config.
  std::optional<WinnerRow> winner;
};

/// The problem, where all dims are named with one value each; else the problems of the op's winners of this device and
/// mode that have one of the values of each name. Without words, those of all ops. `cache` may be null: then the
/// problem must be named. Winners left out, and why, are added to `notes`. Throws UsageError for unreadable words,
/// Error where no winner fits.
[[nodiscard]] std::vector<ChosenProblem> choose_problems(const std::optional<ProblemWords>& words, const Place& place,
                                                         Catalogue& catalogue, const Store* cache,
                                                         const DeviceFacts& device, MeasureMode mode,
                                                         std::vector<std::string>& notes);

/// The cache, to run its binaries; nothing where there is no file. Throws CacheError where others may write it.
[[nodiscard]] std::optional<Store> open_if_there(const Place& place);

}  // namespace tilewright::app
