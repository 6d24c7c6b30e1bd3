// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tuner/snapshot/manifest.hpp"

/// Where a machine keeps what it has pulled:
///   snapshots/HASH.db   each by its hash, never changed
///   CHANNEL.db          a link to the one that the channel points at: what applications open
///   CHANNEL.json        its manifest
///   CHANNEL.failed      while pulls fail: since when, and why the last one did
/// One process at a time changes it; any number open what is there.
namespace tilewright {

class PulledFolder {
 public:
  explicit PulledFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return folder_; }
  [[nodiscard]] std::filesystem::path snapshot(const std::string& hash) const;
  /// The file in which a snapshot is put together.
  [[nodiscard]] std::filesystem::path part(const std::string& hash) const;
  [[nodiscard]] std::filesystem::path link(const std::string& channel) const;

  /// The manifest that was taken last; nothing where none was. Throws Error for a file that is none: without it nobody
  /// knows what is older.
  [[nodiscard]] std::optional<SignedManifest> manifest(const std::string& channel) const;
  void put_manifest(const SignedManifest& given) const;
  /// The hash that the link leads to; nothing where it leads nowhere.
  [[nodiscard]] std::optional<std::string> linked(const std::string& channel) const;
  /// In one step: who opens it gets the old one or the new. Throws Error where something else has the link's name.
  void point(const std::string& channel, const std::string& hash) const;
  /// Its bytes are right and on the disk: from now on it has its name.
  void keep_part(const std::string& hash) const;
  /// Throws Error where the disk has no room for so many bytes more.
  void require_room(std::uintmax_t bytes) const;

  struct Failure {
    /// Seconds since 1970, of the first in a row.
    std::int64_t since = 0;
    std::string why;
  };
  /// Nothing where the last pull succeeded. For people: what cannot be read or kept is left out.
  [[nodiscard]] std::optional<Failure> failure(const std::string& channel) const noexcept;
  /// A pull failed; empty: it succeeded.
  void note_failure(const std::string& channel, const std::string& why) const noexcept;
  /// The names of the channels that were pulled, or failed to be.
  [[nodiscard]] std::vector<std::string> channels() const;

  /// Takes out all snapshots but the newest, those that a link leads to, and those that a process has open.
  void forget_old(std::size_t kept) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace tilewright
