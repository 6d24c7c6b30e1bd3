// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "tuner/remote/remote_shelf.hpp"

/// The service, or the folder, that snapshots go to and come from.
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

/// Throws UsageError for an address or a file that is none.
[[nodiscard]] NamedPlace open(const RemotePlace& remote);

/// Fetches what a manifest points at, or goes on with it, into `part`, and judges it: the bytes are those that the hash
/// is of. Throws Error for others, which are gone then.
void fetch_verified(SnapshotPlace& from, const std::string& hash, std::uintmax_t most,
                    const std::filesystem::path& part);

/// Throws UsageError for what is no name of a channel.
void require_channel(const std::string& name);

/// "3 days", "2 min": of a moment before now, at least 0.
[[nodiscard]] std::string age_text(std::int64_t moment);
[[nodiscard]] std::int64_t now_seconds();

}  // namespace tilewright::app
