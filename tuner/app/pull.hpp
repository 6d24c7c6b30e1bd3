// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "tuner/app/remote_place.hpp"
#include "tuner/report/table.hpp"
#include "tuner/snapshot/pulled_folder.hpp"

/// Pulls snapshots of a service for the applications of this machine.
namespace tilewright::app {

struct PullRequest {
  RemotePlace from;
  std::filesystem::path folder;
  std::string channel = "stable";
  /// The public keys that may sign the channel; needed unless `pin` is set.
  std::optional<std::filesystem::path> publishers{};
  /// The hash of a snapshot to pull instead of a channel's.
  std::optional<std::string> pin{};
  /// The file of misses to send to the service; nullopt sends none.
  std::optional<std::filesystem::path> misses{};
  /// How many snapshots stay besides those in use.
  std::size_t kept = 3;
};

enum class PullOutcome : std::uint8_t {
  pulled,   ///< the snapshot is another one now
  current,  ///< the snapshot is the same
  away,     ///< nobody answered; the snapshot in place stays
};

struct Pulled {
  PullOutcome outcome = PullOutcome::pulled;
  /// The link that applications open.
  std::filesystem::path file;
  std::string hash;
  /// The channel's manifest; nullopt if a snapshot is pinned, or no manifest is known.
  std::optional<Manifest> manifest{};
  /// Why nobody answered.
  std::string why{};
  /// The number of shapes sent to the service, and why others were not sent.
  std::size_t misses = 0;
  std::string misses_error{};
  /// Shapes that the service refused, such as those of unknown ops, and the reason of the first.
  std::size_t misses_refused = 0;
  std::string misses_refused_why{};
};

class Puller {
 public:
  /// Throws UsageError for an invalid key, place or channel.
  explicit Puller(PullRequest request);

  /// Fetches a new snapshot, verifies it, and puts it in place. Throws Error if it cannot be trusted or does not fit
  /// this program, Unreachable if nobody answers and no snapshot is there; the snapshot in place then stays. Waits for
  /// another process that pulls into the folder.
  [[nodiscard]] Pulled pull();

 private:
  [[nodiscard]] Pulled pull_channel();
  [[nodiscard]] Pulled pull_pin();
  /// Puts the snapshot's file in place; `bytes` is its largest size.
  void fetch(const std::string& hash, std::uintmax_t bytes, bool room_is_known);
  void send_misses(Pulled& done);

  const PullRequest request_;
  const PulledFolder folder_;
  std::optional<PublicKeys> keys_;
  NamedPlace from_;
};

/// The 64 digits of sha256:HASH. Throws UsageError for any other text.
[[nodiscard]] std::string snapshot_hash(const std::string& pin);
/// The named file of misses, or the default if `named` is empty; nullopt for "off".
[[nodiscard]] std::optional<std::filesystem::path> misses_file(const std::string& named);
/// TILEWRIGHT_PULLED, else tilewright/pulled in the XDG cache folder. Throws UsageError if none of them is set.
[[nodiscard]] std::filesystem::path default_pulled_folder();

[[nodiscard]] Table table_of(const Pulled& done);

/// The time until the next pull: `every`, give or take a tenth at random, so that a fleet does not come at once. After
/// failures it doubles each time, up to an hour, and half of it is random. `chance` is from 0 to 1. Pure.
[[nodiscard]] std::chrono::milliseconds next_pull(std::chrono::milliseconds every, unsigned failures, double chance);

}  // namespace tilewright::app
