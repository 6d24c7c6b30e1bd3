// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "tuner/snapshot/manifest.hpp"

/// The place of channels and snapshots: a folder, or a service. One thread at a time.
namespace tilewright {

class SnapshotPlace {
 public:
  SnapshotPlace() = default;
  SnapshotPlace(const SnapshotPlace&) = delete;
  SnapshotPlace& operator=(const SnapshotPlace&) = delete;
  virtual ~SnapshotPlace() = default;

  /// Its name for people.
  [[nodiscard]] virtual std::string title() const = 0;
  /// A channel's manifest, not verified; nothing where the channel is new.
  [[nodiscard]] virtual std::optional<SignedManifest> manifest(const std::string& channel) = 0;
  virtual void put_manifest(const SignedManifest& given) = 0;
  /// Does nothing for a snapshot that is there.
  virtual void put_snapshot(const std::filesystem::path& file, const std::string& hash) = 0;
  /// Adds to `part` what it lacks of the snapshot, of which it may have the beginning: not verified. Throws Error for
  /// one that is not there, or longer than `most` bytes.
  virtual void fetch(const std::string& hash, std::uintmax_t most, const std::filesystem::path& part) = 0;
};

/// No snapshot is larger: what a wrong size may cost.
inline constexpr std::uintmax_t kMostSnapshotBytes = std::uintmax_t{16} << 30;

}  // namespace tilewright
