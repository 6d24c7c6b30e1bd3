// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// A sweep of a cache, with the number of its trials.
struct StoredSweep {
  std::int64_t id = 0;
  std::string command;
  std::string device_fingerprint;
  /// Seconds since 1970.
  std::int64_t started_at = 0;
  std::optional<std::int64_t> ended_at;
  /// Empty while it runs, or if it was killed.
  std::string outcome;
  std::int64_t trials = 0;
};

/// The latest first. Throws CacheError if the cache cannot be read.
[[nodiscard]] std::vector<StoredSweep> list_sweeps(const std::filesystem::path& cache);

}  // namespace tilewright
