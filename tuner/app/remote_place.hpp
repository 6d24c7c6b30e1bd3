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
  /// Has the token; nothing: TILEWRIGHT_TOKEN, or none.
  std::optional<std::filesystem::path> token{};
  /// Certificates that are trusted instead of the system's.
  std::optional<std::filesystem::path> authorities{};
  std::function<bool()> cancelled{};
};

/// Throws UsageError for a wrong address, or a path that is no file.
[[nodiscard]] NamedPlace open(const RemotePlace& remote);

/// Fetches the snapshot of a manifest into `part`, from where an earlier try broke off. Throws Error for bytes that do
/// not have the hash, which are then removed.
void fetch_verified(SnapshotPlace& from, const std::string& hash, std::uintmax_t most,
                    const std::filesystem::path& part);

/// Throws UsageError for what is no name of a channel.
void require_channel(const std::string& name);

/// "3 days", "2 min": of a moment before now, at least 0.
[[nodiscard]] std::string age_text(std::int64_t moment);

}  // namespace tilewright::app
