// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tuner/snapshot/manifest.hpp"

/// The folder of a machine's pulled snapshots:
///   snapshots/HASH.db   the snapshots, read-only
///   CHANNEL.db          a link to the channel's snapshot, for applications to open
///   CHANNEL.json        the channel's manifest
///   CHANNEL.failed      while pulls fail: the time of the first failure, and the last one's reason
/// One process at a time changes the folder; any number may read it.
namespace tilewright {

class PulledFolder {
 public:
  explicit PulledFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return folder_; }
  [[nodiscard]] std::filesystem::path snapshot(const std::string& hash) const;
  /// The file that collects a snapshot's bytes.
  [[nodiscard]] std::filesystem::path part(const std::string& hash) const;
  [[nodiscard]] std::filesystem::path link(const std::string& channel) const;

  /// The manifest accepted last, or nullopt. Throws Error if it is damaged: an older snapshot could not be detected.
  [[nodiscard]] std::optional<SignedManifest> manifest(const std::string& channel) const;
  void put_manifest(const SignedManifest& given) const;
  /// The hash of the link's snapshot, or nullopt if the link leads to none.
  [[nodiscard]] std::optional<std::string> linked(const std::string& channel) const;
  /// Sets the link atomically: readers open the old snapshot or the new one. Throws Error if the link's name is taken
  /// by another file.
  void point(const std::string& channel, const std::string& hash) const;
  /// Flushes the verified part to the disk, makes it read-only and renames it to the snapshot.
  void keep_part(const std::string& hash) const;
  /// Throws Error if the disk has less than `bytes` free.
  void require_room(std::uintmax_t bytes) const;

  struct Failure {
    /// Seconds since 1970 of the first failure in a row.
    std::int64_t since = 0;
    std::string why;
  };
  /// Nullopt if the last pull succeeded, or the file cannot be read.
  [[nodiscard]] std::optional<Failure> failure(const std::string& channel) const noexcept;
  /// Records a failed pull; an empty `why` records success. Ignores errors.
  void note_failure(const std::string& channel, const std::string& why) const noexcept;
  /// The channels that were pulled or failed to be, sorted.
  [[nodiscard]] std::vector<std::string> channels() const;

  /// Removes all snapshots but the newest `kept`, those with a link, and those that a process has open.
  void forget_old(std::size_t kept) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace tilewright
