// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "cache/store/import.hpp"

/// Winners or trials of a cache as a cache of their own. Free functions over Stores.
namespace tilewright {

/// Writes the winners of `from` as a cache of its own: one file in journal mode DELETE, checked, and put in its place
/// only when it is whole. What stands there is replaced. Without a winner to take nothing is written. Throws
/// CacheError.
std::vector<OpCounts> export_winners(const Store& from, const std::filesystem::path& file,
                                     const WinnerSelection& filter = {});

/// Writes the trials of `from` as a recording: for each config of a problem the newest, with its rounds; no winners,
/// builds, logs or accuracies. For replays and studies; nothing can be served from it. Like export_winners in all else;
/// `added` are problems.
std::vector<OpCounts> export_trials(const Store& from, const std::filesystem::path& file,
                                    const WinnerSelection& filter = {});

}  // namespace tilewright
