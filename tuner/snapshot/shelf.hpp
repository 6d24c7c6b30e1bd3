// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tuner/snapshot/place.hpp"

/// A folder of snapshots and channels. Its files have a service's paths (v1/channels/NAME, v1/blobs/HASH), so that any
/// web server can serve it. Files are replaced atomically: readers see a whole file or none. Any number of threads and
/// processes may use one folder. For any thread.
namespace tilewright {

/// The number of newest snapshots kept besides those that channels point at.
inline constexpr std::size_t kKeptSnapshots = 16;

class Shelf final : public SnapshotPlace {
 public:
  explicit Shelf(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] std::string title() const override { return folder_.string(); }
  [[nodiscard]] std::optional<SignedManifest> manifest(const std::string& channel) override;
  /// Throws Error if its number is not above the channel's, or its snapshot is missing.
  void put_manifest(const SignedManifest& given) override;
  void put_snapshot(const std::filesystem::path& file, const std::string& hash) override;
  void fetch(const std::string& hash, std::uintmax_t most, const std::filesystem::path& part) override;

  /// The names of all channels, sorted.
  [[nodiscard]] std::vector<std::string> channels() const;
  /// A snapshot's file, or nullopt if it is missing. Throws UsageError if `hash` is not a hash.
  [[nodiscard]] std::optional<std::filesystem::path> snapshot(const std::string& hash) const;
  /// The bytes received of a snapshot that arrives in pieces.
  [[nodiscard]] std::uintmax_t received(const std::string& hash) const;

  enum class Piece : std::uint8_t {
    taken,
    whole,  ///< the snapshot is there
    other,  ///< it does not continue the pieces received
    wrong,  ///< all bytes are there but do not have the hash: they are removed
  };
  /// Takes a piece of a snapshot of `bytes` bytes; the first begins at 0. Throws CacheError if the disk is full.
  [[nodiscard]] Piece take_piece(const std::string& hash, std::uintmax_t bytes, std::uintmax_t from,
                                 std::string_view piece);

  enum class Taken : std::uint8_t {
    taken,
    known,        ///< it is the channel's manifest already
    stale,        ///< the channel's number is as high or higher
    no_snapshot,  ///< its snapshot is missing or has another size
  };
  /// Makes it the manifest of its channel; the caller has checked the signature. Then removes old snapshots without a
  /// channel.
  [[nodiscard]] Taken take_manifest(const SignedManifest& given);

 private:
  [[nodiscard]] std::filesystem::path channel_file(const std::string& channel) const;
  [[nodiscard]] std::filesystem::path blobs() const { return folder_ / "v1" / "blobs"; }
  /// Throws UsageError if `hash` is not a hash.
  [[nodiscard]] std::filesystem::path blob(const std::string& hash) const;
  /// Keeps the snapshot that was just written.
  void forget_old(const std::string& written);

  std::filesystem::path folder_;
};

}  // namespace tilewright
