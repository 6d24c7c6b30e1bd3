// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cache/model/records.hpp"

/// All that was tried, in small form: hundreds of thousands of trials, for pictures over a whole cache. Trials name
/// problems, configs, builds and sweeps by the file's ids; each text is stored once. Values.
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
    /// The most of any of its kernels.
    int registers = 0;
    /// Bytes stored and loaded, summed over its kernels.
    int spill_bytes = 0;
    double milliseconds = 0;
    /// As in Build; 0 if unknown.
    std::int64_t sweep = 0;
    int worker = 0;
    std::int64_t began_us = 0;
  };
  struct Sweep {
    std::string command;
    std::int64_t device = 0;
    std::int64_t started_at = 0;
    std::optional<std::int64_t> ended_at;
    /// Empty while it runs, or if it was killed.
    std::string outcome;
  };
  struct TrialOf {
    std::int64_t id = 0;
    std::int64_t problem = 0;
    std::int64_t device = 0;
    std::int64_t config = 0;
    /// 0: no build.
    std::int64_t build = 0;
    std::int64_t sweep = 0;
    std::int64_t measured_at = 0;
    /// 0 if it was not measured.
    double median_ns = 0;
    double low_ns = 0;
    double high_ns = 0;
    /// All 0 if the device did nothing, or if the times are unknown.
    Phases phases{};
    /// An index into `gpus`.
    std::int32_t gpu = 0;
    /// An index into `reasons`.
    std::int32_t reason = 0;
    std::int32_t launches_per_round = 0;
    std::int32_t rounds = 0;
    MeasureMode mode = MeasureMode::cold;
    TrialStatus status = TrialStatus::ok;
    LookLength look = LookLength::whole;
    /// As in Store::trials(): no newer trial of the same problem, device, mode and config counts.
    bool newest = false;
  };

  std::map<std::int64_t, Spec> specs;
  std::map<std::int64_t, ProblemOf> problems;
  std::map<std::int64_t, ConfigOf> configs;
  /// The builds of the trials, and all others that the trials' sweeps made.
  std::map<std::int64_t, BuildOf> builds;
  std::map<std::int64_t, Sweep> sweeps;
  std::map<std::int64_t, DeviceFacts> devices;
  /// The first is empty, for trials that did not fail.
  std::vector<std::string> reasons;
  /// UUIDs. The first is empty, for the emulator.
  std::vector<std::string> gpus;
  /// Trials by id.
  std::vector<TrialOf> trials;
};

/// The history's short form of a build.
[[nodiscard]] History::BuildOf build_of(const Build& build);

}  // namespace tilewright
