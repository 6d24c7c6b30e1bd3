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

/// Snapshots of a service for the applications of this machine.
namespace tilewright::app {

struct PullRequest {
  RemotePlace from;
  std::filesystem::path folder;
  std::string channel = "stable";
  /// Public keys of those who may sign the channel; needed unless something is pinned.
  std::optional<std::filesystem::path> publishers{};
  /// A hash: this snapshot and no channel.
  std::optional<std::string> pin{};
  /// The file of misses, which are brought to the service; nothing: none are.
  std::optional<std::filesystem::path> misses{};
  /// Snapshots that stay besides those in use.
  std::size_t kept = 3;
};

enum class PullOutcome : std::uint8_t {
  pulled,   ///< there is another snapshot now
  current,  ///< it is the same
  away,     ///< nobody answered, and what was there stays
};

struct Pulled {
  PullOutcome outcome = PullOutcome::pulled;
  /// The link that applications open.
  std::filesystem::path file;
  std::string hash;
  /// The channel's manifest.
  std::optional<Manifest> manifest{};
  /// Why nobody answered.
  std::string why{};
  /// Shapes that were brought to the service, and why some were not.
  std::size_t misses = 0;
  std::string misses_error{};
  /// Shapes that the service does not take, such as those of ops that it has not, and why the first of them.
  std::size_t misses_refused = 0;
  std::string misses_refused_why{};
};

class Puller {
 public:
  /// Throws UsageError for a key, a place, a channel that are none.
  explicit Puller(PullRequest request);

  /// Fetches what is new, verifies it, and puts it in place. Throws Error for what is not to be trusted or does not fit
  /// this program, and Unreachable where nobody answers and nothing is there: what was in place stays. Waits for
  /// another process that pulls into the folder.
  [[nodiscard]] Pulled pull();

 private:
  [[nodiscard]] Pulled pull_channel();
  [[nodiscard]] Pulled pull_pin();
  /// Its file is in place afterwards. `bytes`: at most.
  void fetch(const std::string& hash, std::uintmax_t bytes, bool room_is_known);
  void send_misses(Pulled& done);

  const PullRequest request_;
  const PulledFolder folder_;
  std::optional<PublicKeys> keys_;
  NamedPlace from_;
};

/// The 64 digits of sha256:HASH. Throws UsageError for what is none.
[[nodiscard]] std::string snapshot_hash(const std::string& pin);
/// The file of misses that is named, or the default where `named` is empty; nothing for "off".
[[nodiscard]] std::optional<std::filesystem::path> misses_file(const std::string& named);
/// TILEWRIGHT_PULLED, else tilewright/pulled in the XDG cache folder. Throws UsageError where none of them is set.
[[nodiscard]] std::filesystem::path default_pulled_folder();

[[nodiscard]] Table table_of(const Pulled& done);

/// The time until the next pull: `every`, a tenth more or less, so that a fleet does not come at once; after failures
/// twice as long each time, to an hour, and half of it by chance. `chance` is from 0 to 1. Pure.
[[nodiscard]] std::chrono::milliseconds next_pull(std::chrono::milliseconds every, unsigned failures, double chance);

}  // namespace tilewright::app
