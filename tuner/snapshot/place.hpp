// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "tuner/snapshot/manifest.hpp"

/// The place of channels and snapshots: a folder or a service. One thread at a time.
namespace tilewright {

class SnapshotPlace {
 public:
  SnapshotPlace() = default;
  SnapshotPlace(const SnapshotPlace&) = delete;
  SnapshotPlace& operator=(const SnapshotPlace&) = delete;
  virtual ~SnapshotPlace() = default;

  /// Its name for people.
  [[nodiscard]] virtual std::string title() const = 0;
  /// A channel's manifest, not verified; nullopt for a new channel.
  [[nodiscard]] virtual std::optional<SignedManifest> manifest(const std::string& channel) = 0;
  virtual void put_manifest(const SignedManifest& given) = 0;
  /// Does nothing if the place has the snapshot.
  virtual void put_snapshot(const std::filesystem::path& file, const std::string& hash) = 0;
  /// Completes `part`, which may hold the snapshot's beginning. Does not verify it. Throws Error if the place does not
  /// have the snapshot, or it is longer than `most` bytes.
  virtual void fetch(const std::string& hash, std::uintmax_t most, const std::filesystem::path& part) = 0;
};

/// The largest snapshot: bounds the damage of a wrong size.
inline constexpr std::uintmax_t kMostSnapshotBytes = std::uintmax_t{16} << 30;

}  // namespace tilewright
