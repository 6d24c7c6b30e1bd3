// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "cache/model/records.hpp"
#include "tuner/measure/measure.hpp"

namespace tilewright {

/// How a sweep searches each problem.
struct SearchOptions {
  /// For the measurement of one config.
  StopRule stop;
  /// The conditions under which the fastest wins. Sustained adds a test under load after the burst's final.
  Regime regime = Regime::burst;
  /// Configs considered per problem (sweep/selection.hpp); 0: all legal ones.
  std::size_t max_configs = 0;
  /// The strategy's name (search/strategy.hpp).
  std::string strategy = "exhaustive";
  std::uint64_t seed = 1;
  /// Configs tried per problem, besides those in the cache; 0: no limit.
  std::size_t max_trials = 0;
  /// Leave out configs that cannot win (prune/pruner.hpp), or that were pruned before.
  bool prune = true;
  /// Measure again what the cache already has.
  bool again = false;
  /// Failures to try again. The newest result counts.
  std::set<TrialStatus> retry;
};

}  // namespace tilewright
