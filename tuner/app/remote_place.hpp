// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "tuner/remote/remote_shelf.hpp"

/// A service or a folder with snapshots.
namespace tilewright::app {

struct RemotePlace {
  /// An address (https://tuning.example), or a folder.
  std::string name;
  /// The file of the token. If nullopt, TILEWRIGHT_TOKEN is read; without it no token is sent.
  std::optional<std::filesystem::path> token{};
  /// Certificates to trust instead of the system's.
  std::optional<std::filesystem::path> authorities{};
  std::function<bool()> cancelled{};
};

/// Throws UsageError for an invalid address, or a path that is not a file.
[[nodiscard]] NamedPlace open(const RemotePlace& remote);

/// Fetches a manifest's snapshot into `part`, and resumes an earlier try. Throws Error if the bytes do not have the
/// hash, and removes them.
void fetch_verified(SnapshotPlace& from, const std::string& hash, std::uintmax_t most,
                    const std::filesystem::path& part);

/// Throws UsageError if `name` is not a channel name.
void require_channel(const std::string& name);

/// The age of a moment, at least 0: "3 days", "2 min".
[[nodiscard]] std::string age_text(std::int64_t moment);

}  // namespace tilewright::app
