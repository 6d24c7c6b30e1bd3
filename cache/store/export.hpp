// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "cache/store/import.hpp"

/// Winners or trials of a cache as a cache of their own. Free functions over Stores.
namespace tilewright {

/// Writes the winners of `from` as a cache of their own: one file in journal mode DELETE, checked, and put in place
/// only when complete. An existing file is replaced. Writes nothing if no winner is taken. Throws CacheError.
std::vector<OpCounts> export_winners(const Store& from, const std::filesystem::path& file,
                                     const WinnerSelection& filter = {});

/// Writes the trials of `from` as a recording: the newest of each config of a problem, with its rounds, but no winners,
/// builds, logs or accuracies. For replays and studies; it cannot serve. Like export_winners otherwise; `added` counts
/// problems.
std::vector<OpCounts> export_trials(const Store& from, const std::filesystem::path& file,
                                    const WinnerSelection& filter = {});

}  // namespace tilewright
