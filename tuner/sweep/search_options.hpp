// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "cache/model/records.hpp"
#include "tuner/measure/measure.hpp"

namespace tilewright {

/// The search of each problem of a sweep.
struct SearchOptions {
  /// Of the measurement of one config.
  StopRule stop;
  /// Under which conditions the fastest wins; sustained: after a burst final, all of it.
  Regime regime = Regime::burst;
  /// Configs considered for each problem (sweep/selection.hpp); 0: all that are legal.
  std::size_t max_configs = 0;
  /// The rule by which they are tried (search/strategy.hpp).
  std::string strategy = "exhaustive";
  std::uint64_t seed = 1;
  /// Configs tried for each problem, besides those that the cache knows; 0: no bound.
  std::size_t max_trials = 0;
  /// Leave out configs that cannot win (prune/pruner.hpp), and those that were left out before.
  bool prune = true;
  /// Measure again what the cache already has.
  bool again = false;
  /// Failures that are tried again. What became of them counts, as the newest.
  std::set<TrialStatus> retry;
};

}  // namespace tilewright
