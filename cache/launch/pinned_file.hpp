// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

/// Snapshots by their hash. Stateless functions, for any thread.
namespace tilewright::launch {

/// The 64 digits of "sha256:…". Throws UsageError if `pin` has another form.
[[nodiscard]] std::string hash_of_pin(std::string_view pin);

/// The file with this hash: `snapshots/HASH.db` beside `cache`, HASH.db beside the file that `cache` links to, or that
/// file. Each candidate is read whole: a name proves nothing. Throws CacheError if none has the hash.
[[nodiscard]] std::filesystem::path pinned_file(const std::filesystem::path& cache, const std::string& hash);

}  // namespace tilewright::launch
