// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cache/model/records.hpp"

/// All that was tried, at once and small: hundreds of thousands of trials for pictures over a whole cache. Trials name
/// problems, configs, builds and sweeps by the ids of the file, and the texts stand beside them once. Values.
namespace tilewright {

struct History {
  struct Spec {
    OpSpec spec;
    std::string interface_hash;
  };
  struct ProblemOf {
    std::int64_t spec = 0;
    std::vector<std::pair<std::string, std::int64_t>> dims;
  };
  struct ConfigOf {
    /// Canonical: onchip{num_warps=4,vec=8}.
    std::string text;
    std::string implementation_hash;
  };
  struct BuildOf {
    bool ok = false;
    /// The most of its kernels.
    int registers = 0;
    /// Stored and loaded, of all kernels.
    int spill_bytes = 0;
    double milliseconds = 0;
    /// As of Build; 0 where it is not known.
    std::int64_t sweep = 0;
    int worker = 0;
    std::int64_t began_us = 0;
  };
  struct Sweep {
    std::string command;
    std::int64_t device = 0;
    std::int64_t started_at = 0;
    std::optional<std::int64_t> ended_at;
    /// Empty while it runs, and when it was killed.
    std::string outcome;
  };
  struct TrialOf {
    std::int64_t id = 0;
    std::int64_t problem = 0;
    std::int64_t device = 0;
    std::int64_t config = 0;
    /// 0: none.
    std::int64_t build = 0;
    std::int64_t sweep = 0;
    std::int64_t measured_at = 0;
    /// 0 where it was not measured.
    double median_ns = 0;
    double low_ns = 0;
    double high_ns = 0;
    /// All 0 where the device did nothing, or it is not known.
    Phases phases{};
    /// Into `gpus`.
    std::int32_t gpu = 0;
    /// Into `reasons`.
    std::int32_t reason = 0;
    std::int32_t launches_per_round = 0;
    std::int32_t rounds = 0;
    MeasureMode mode = MeasureMode::cold;
    TrialStatus status = TrialStatus::ok;
    LookLength look = LookLength::whole;
    /// As Store::trials() has it: no newer trial of the same problem, device, mode and config counts.
    bool newest = false;
  };

  std::map<std::int64_t, Spec> specs;
  std::map<std::int64_t, ProblemOf> problems;
  std::map<std::int64_t, ConfigOf> configs;
  /// The builds of the trials, and all others that the trials' sweeps made.
  std::map<std::int64_t, BuildOf> builds;
  std::map<std::int64_t, Sweep> sweeps;
  std::map<std::int64_t, DeviceFacts> devices;
  /// The first is empty: that of trials that did not fail.
  std::vector<std::string> reasons;
  /// UUIDs. The first is empty: that of the emulator.
  std::vector<std::string> gpus;
  /// Trials by id.
  std::vector<TrialOf> trials;
};

/// A build as the history has it.
[[nodiscard]] History::BuildOf build_of(const Build& build);

}  // namespace tilewright
