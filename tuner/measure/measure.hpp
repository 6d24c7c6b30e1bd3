// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <vector>

#include "cache/model/records.hpp"
#include "tuner/device/device.hpp"

/// Measures: how often work is repeated, and the statistics of its rounds (docs/measuring.md).
namespace tilewright {

struct StopRule {
  /// Stop if half the width of the median's 95 % interval is at most this share of the median.
  double relative_interval = 0.005;
  int min_rounds = 8;
  int max_rounds = 200;
  /// The longest measurement, including warm-up.
  std::chrono::nanoseconds budget = std::chrono::milliseconds(60);
  /// The rest after each round, as a multiple of its length, at most 100 ms. Keeps kernels that compute without pause
  /// below the power limit. Rests count towards the budget.
  int rest = 0;
  /// Runs under load for this long before the first counted round, and does not rest. 0: no load.
  std::chrono::nanoseconds load{0};
  /// Measuring stops at the first round slower than this, even the warm-up round, which then counts. 0: no limit.
  double give_up_ns = 0;
};

/// The rest for a problem: none on the emulator, and none if memory bounds it, which keeps a GPU below its power limit.
[[nodiscard]] int rest_for(const DeviceFacts& device, std::int64_t flops, std::int64_t bytes);

/// The median of per-round values and its 95 % interval by order statistics, which assume no distribution. For fewer
/// than 6 values the interval is their range, which covers less than 95 %. Throws std::invalid_argument if there are
/// none.
[[nodiscard]] Timing summarise(std::vector<double> rounds_ns);

/// The rule for finalists in the regime `sustained`: each first runs alone for a second, because the clock at the power
/// limit depends on the kernel.
[[nodiscard]] StopRule sustained(StopRule rule);

/// Runs a warm-up round, or the rule's load, then rounds until the rule stops: at least 3, whatever the budget, unless
/// the rule allows fewer or gives up. A warm-up round that takes the whole budget and 100 ms counts as one.
/// `interrupted` (may be empty) stops early; the Timing then has the rounds so far, perhaps none.
[[nodiscard]] Timing measure(Rounds& rounds, const StopRule& rule, const std::function<bool()>& interrupted = {});

/// Runs rounds of several in turns (A B C A B C…), equally many of each, so that drift affects all equally. Returns a
/// Timing for each in their order, with rounds in the order they ran. Stops when all meet the rule; the budget is per
/// item.
[[nodiscard]] std::vector<Timing> measure_together(std::span<Rounds* const> rounds, const StopRule& rule,
                                                   const std::function<bool()>& interrupted = {});

/// The time of a round: long enough to time, short enough for many rounds in the budget.
inline constexpr std::chrono::nanoseconds kRoundTarget = std::chrono::milliseconds(1);

/// The launches of a round of about `target`, from one launch's estimated time: a multiple of `input_sets`, at most
/// 1024 or one turn of the sets.
[[nodiscard]] int launches_for(double estimate_ns, std::chrono::nanoseconds target, int input_sets);

/// The number of input sets that makes each set cold at its turn: together over twice the L2, from 2 to 1024, limited
/// by free memory (then perhaps 1). 1 in the modes `hot` and `events`, which do not rotate, and on the emulator.
[[nodiscard]] int input_sets_for(const DeviceFacts& device, std::size_t bytes_per_set, std::size_t free_bytes,
                                 MeasureMode mode);

}  // namespace tilewright
