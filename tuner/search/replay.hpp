// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/search/strategy.hpp"

/// Strategies against the stored trials of an exhaustive sweep, with no device: what each would have asked for, how
/// long that would have taken, and how good its winner is (docs/tuning.md). Pure but for reading the store.
namespace tilewright {

/// The trials of one problem on one device in one mode, with their rounds.
struct Recording {
  Problem problem;
  std::string device;
  MeasureMode mode = MeasureMode::cold;
  Idle idle{};
  /// In the order in which they were made, one a config.
  std::vector<Trial> trials;
};

/// Those of `op` (empty: of all) in the cache, in the order in which they were made. Trials that were looked at briefly
/// alone are no recording of theirs and are left out.
[[nodiscard]] std::vector<Recording> read_recordings(const Store& store, const std::string& op);

/// One strategy's run over one recording.
struct Replayed {
  std::string strategy;
  Problem problem;
  std::size_t candidates = 0;
  /// Candidates looked at.
  std::size_t trials = 0;
  /// Nanoseconds of device time for all rounds, warm-up and final included.
  double measuring_ns = 0;
  Config winner;
  /// The recorded median of its winner over that of the exhaustive one, less 1: negative where the tie rule chose
  /// better.
  double loss = 0;
};

struct ReplaySetting {
  std::uint64_t seed = 1;
  std::size_t max_trials = 0;
  /// Fallbacks, by op, for the trials that are made of them in any case; may lack any.
  std::map<std::string, Config> bases;
  /// Takes the recordings to replay; the strategies know of the others as well. Empty: all.
  std::function<bool(const Recording&)> wanted{};
};

/// One strategy on every recording that has a trial with a time. `local` and `model` learn from the other recordings of
/// the op, device and mode, and each shape is held out: of the shape that they are tried on they know nothing, be it of
/// another dtype or of other attributes. Tie breaks know as much. The other strategies know nothing.
[[nodiscard]] std::vector<Replayed> replay(const std::vector<Recording>& recordings, const std::string& strategy,
                                           const ReplaySetting& setting);

}  // namespace tilewright
