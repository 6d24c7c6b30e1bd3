// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

/// Snapshots by their hash: which file a pin is of. Functions without state, for any thread.
namespace tilewright::launch {

/// The 64 digits of "sha256:…". Throws UsageError for what is none.
[[nodiscard]] std::string hash_of_pin(std::string_view pin);

/// The file with this hash: `snapshots/HASH.db` beside `cache` or beside what that leads to, as `tilewright pull` keeps
/// them, else `cache` itself. Its name is not believed: all of it is read. Throws CacheError where none has it.
[[nodiscard]] std::filesystem::path pinned_file(const std::filesystem::path& cache, const std::string& hash);

}  // namespace tilewright::launch
