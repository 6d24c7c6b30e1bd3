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

/// Runs strategies against the stored trials of an exhaustive sweep, without a device: which looks each asks for, how
/// long they take, and how good its winner is (docs/tuning.md). Pure but for reading the store.
namespace tilewright {

/// The trials of one problem on one device in one mode, with their rounds.
struct Recording {
  Problem problem;
  std::string device;
  MeasureMode mode = MeasureMode::cold;
  Idle idle{};
  /// In the order they were made, one per config.
  std::vector<Trial> trials;
};

/// The cache's recordings of `op` (empty: of all ops), in the order they were made. Timed trials with only a brief look
/// or without rounds are left out.
[[nodiscard]] std::vector<Recording> read_recordings(const Store& store, const std::string& op);

/// The run of one strategy over one recording.
struct Replayed {
  std::string strategy;
  Problem problem;
  std::size_t candidates = 0;
  /// Candidates looked at.
  std::size_t trials = 0;
  /// Nanoseconds of device time for all rounds, including warm-up and final.
  double measuring_ns = 0;
  Config winner;
  /// The recorded median of its winner over that of the exhaustive winner, less 1. Negative if the tie rule chose
  /// better; 1 if either has no time.
  double loss = 0;
};

struct ReplaySetting {
  std::uint64_t seed = 1;
  std::size_t max_trials = 0;
  /// Fallbacks by op, which strategies always try. Ops may be missing.
  std::map<std::string, Config> bases;
  /// Selects the recordings to replay; strategies also know the others. If empty, all are replayed.
  std::function<bool(const Recording&)> wanted{};
};

/// Runs one strategy on each wanted recording. `local` and `model` learn from other recordings of the op, device and
/// mode, except those of the shape itself, also under other dtypes or attributes. Tie breaks know the same. Other
/// strategies know nothing.
[[nodiscard]] std::vector<Replayed> replay(const std::vector<Recording>& recordings, const std::string& strategy,
                                           const ReplaySetting& setting);

}  // namespace tilewright
