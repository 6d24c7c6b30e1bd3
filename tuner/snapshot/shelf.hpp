// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tuner/snapshot/place.hpp"

/// A folder of snapshots and channels. Its files lie as a service's paths do (v1/channels/NAME, v1/blobs/HASH), so that
/// any web server may serve it. Nothing of it is changed in place: readers see a file whole or not at all. Any number
/// of threads and processes may use one folder; a Shelf belongs to any thread.
namespace tilewright {

/// The newest snapshots that stay besides those that channels point at.
inline constexpr std::size_t kKeptSnapshots = 16;

class Shelf final : public SnapshotPlace {
 public:
  explicit Shelf(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] std::string title() const override { return folder_.string(); }
  [[nodiscard]] std::optional<SignedManifest> manifest(const std::string& channel) override;
  /// Throws Error where it is not the next of its channel, or its snapshot is not there.
  void put_manifest(const SignedManifest& given) override;
  void put_snapshot(const std::filesystem::path& file, const std::string& hash) override;
  void fetch(const std::string& hash, std::uintmax_t most, const std::filesystem::path& part) override;

  /// The names of all channels.
  [[nodiscard]] std::vector<std::string> channels() const;
  /// A snapshot's file; nothing where it is not there.
  [[nodiscard]] std::optional<std::filesystem::path> snapshot(const std::string& hash) const;
  /// Of one that comes in pieces, how many bytes are there.
  [[nodiscard]] std::uintmax_t received(const std::string& hash) const;

  enum class Piece : std::uint8_t {
    taken,
    whole,  ///< the snapshot is there
    other,  ///< it does not begin where the pieces before end
    wrong,  ///< all are there and are not what the hash says: they are forgotten
  };
  /// Takes a piece of a snapshot of `bytes` bytes; the first begins at 0. Throws Error for a disk that is full.
  [[nodiscard]] Piece take_piece(const std::string& hash, std::uintmax_t bytes, std::uintmax_t from,
                                 std::string_view piece);

  enum class Taken : std::uint8_t {
    taken,
    known,        ///< it is the channel's already
    stale,        ///< the channel has one of as high a number
    no_snapshot,  ///< what it points at is not there, or of another size
  };
  /// Makes it what its channel points at; who signed it is for the caller to judge. Then snapshots that nothing points
  /// at go, but for the newest.
  [[nodiscard]] Taken take_manifest(const SignedManifest& given);

 private:
  [[nodiscard]] std::filesystem::path channel_file(const std::string& channel) const;
  [[nodiscard]] std::filesystem::path blobs() const { return folder_ / "v1" / "blobs"; }
  /// Throws UsageError for what is no hash.
  [[nodiscard]] std::filesystem::path blob(const std::string& hash) const;
  void forget_old();

  std::filesystem::path folder_;
};

}  // namespace tilewright
