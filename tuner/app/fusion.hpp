// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/analysis/fusion.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/app/tuning.hpp"

/// Compares the bytes and times of a fused op with its unfused chain, and tells whether fusing pays.
namespace tilewright::app {

struct FusionRequest {
  Place place;
  /// All dims, with one value each.
  ProblemWords problem;
  /// A device of the cache, or an architecture if there is no cache; empty: the devices with winners.
  std::string device;
  MeasureMode mode = MeasureMode::cold;
  /// Tunes the steps without a winner first; nullopt reports what is known.
  std::optional<Tuning> tuning;
};

struct FusionResult {
  /// One account for each device; one by bytes alone if no device is known.
  std::vector<FusionAccount> accounts;
  /// Whether is_whole() holds for all sweeps.
  bool whole = true;
};

/// Throws as to_problem(), and Error if the op is no fusion.
[[nodiscard]] FusionResult fusion(const FusionRequest& request, Listener& listener);

}  // namespace tilewright::app
