// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/analysis/fusion.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/app/tuning.hpp"

/// The bytes and times of a fused op and of its unfused chain, and whether fusing pays.
namespace tilewright::app {

struct FusionRequest {
  Place place;
  /// Every dim with one value.
  ProblemWords problem;
  /// A device of the cache, or an architecture where there is no cache; empty: those with winners.
  std::string device;
  MeasureMode mode = MeasureMode::cold;
  /// Tunes the steps that have no winner first. Nothing: reports what is known.
  std::optional<Tuning> tuning;
};

struct FusionResult {
  /// An account for each device; one by bytes alone where no device is known.
  std::vector<FusionAccount> accounts;
  /// Every sweep came to its end.
  bool whole = true;
};

/// Throws as to_problem(), and Error for an op that is no fusion.
[[nodiscard]] FusionResult fusion(const FusionRequest& request, Listener& listener);

}  // namespace tilewright::app
