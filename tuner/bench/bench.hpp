// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

#include "cache/store/records.hpp"
#include "tuner/device/device.hpp"

/// Measuring: how often a unit of work is repeated and what is made of the samples (docs/measuring.md).
namespace tilewright {

struct StopRule {
  /// Stop when the 95 % interval of the median is narrower than this share of it (half width).
  double relative_interval = 0.005;
  int min_rounds = 8;
  int max_rounds = 200;
  /// Of one measurement, warm-up included.
  std::chrono::nanoseconds budget = std::chrono::milliseconds(60);
};

/// Statistics of per-round values: median, and its 95 % interval by order statistics, which assumes no distribution.
/// Throws std::invalid_argument when there is none.
[[nodiscard]] Timing summarise(std::vector<double> rounds_ns);

/// Runs one warm-up round, then rounds until the rule says stop. `interrupted` (may be empty) ends it early.
[[nodiscard]] Timing measure(Rounds& rounds, const StopRule& rule, const std::function<bool()>& interrupted = {});

/// How many launches make a round long enough to time (a round of about `target`), from one trial launch's estimate.
[[nodiscard]] int launches_for(double estimate_ns, std::chrono::nanoseconds target, int input_sets);

/// How many input sets rotate so that a set is cold when its turn comes: together more than twice the L2, at least 2,
/// bounded by the device's free memory; 1 in `hot` mode.
[[nodiscard]] int input_sets_for(const DeviceFacts& device, std::size_t bytes_per_set, std::size_t free_bytes, MeasureMode mode);

}  // namespace tilewright
