// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <vector>

#include "cache/model/records.hpp"
#include "tuner/device/device.hpp"

/// Measuring: how often a unit of work is repeated, and the statistics of its rounds (docs/measuring.md).
namespace tilewright {

struct StopRule {
  /// Stop when the 95 % interval of the median is narrower than this share of it (half width).
  double relative_interval = 0.005;
  int min_rounds = 8;
  int max_rounds = 200;
  /// The longest measurement, warm-up included.
  std::chrono::nanoseconds budget = std::chrono::milliseconds(60);
  /// The rest after each round, in lengths of that round, 100 ms at most: it keeps kernels that compute without a pause
  /// below the power limit. Rests count towards the budget.
  int rest = 0;
  /// Under load: the device works for so long before the first counted round, and does not rest. 0: as above.
  std::chrono::nanoseconds load{0};
  /// Measuring gives a config up at the first round that is slower than this. The warm-up round may be that one, and
  /// then counts. 0: never.
  double give_up_ns = 0;
};

/// The rest that a problem needs: none on the emulator, and none where waiting for memory keeps a GPU below its power
/// limit.
[[nodiscard]] int rest_for(const DeviceFacts& device, std::int64_t flops, std::int64_t bytes);

/// Statistics of per-round values: median, and its 95 % interval by order statistics, which assumes no distribution. Of
/// fewer than 6 values the interval is from the least to the greatest, which is less sure than 95 %.
/// Throws std::invalid_argument when there is none.
[[nodiscard]] Timing summarise(std::vector<double> rounds_ns);

/// The rule of finalists in the regime `sustained`: each runs alone under a second of its own load first, since the
/// clock at the power limit depends on what runs.
[[nodiscard]] StopRule sustained(StopRule rule);

/// Runs one warm-up round, or as many as the rule's load takes, then rounds until the rule says stop: at least 3,
/// whatever the budget, unless it allows fewer or gives up. A warm-up round that takes the whole budget and 100 ms
/// counts as one of them. `interrupted` (may be empty) ends it early; the Timing then has the rounds made so far,
/// perhaps none.
[[nodiscard]] Timing measure(Rounds& rounds, const StopRule& rule, const std::function<bool()>& interrupted = {});

/// Runs rounds of several in turns (A B C A B C…), equally many of each, so that a drift is the same for all. Returns a
/// Timing for each, in their order, rounds in the order in which they ran. Ends when each of them keeps the rule, with
/// the rule's budget for each.
[[nodiscard]] std::vector<Timing> measure_together(std::span<Rounds* const> rounds, const StopRule& rule,
                                                   const std::function<bool()>& interrupted = {});

/// The launches of a round of about `target`, from one trial launch's estimate: a whole multiple of `input_sets`, at
/// most 1024 or one turn of the sets.
[[nodiscard]] int launches_for(double estimate_ns, std::chrono::nanoseconds target, int input_sets);

/// The input sets that rotate so that a set is cold when its turn comes: together more than twice the L2, at least 2,
/// at most 1024, bounded by the device's free memory (then perhaps 1). 1 in the modes `hot` and `events`, which do not
/// rotate, and on the emulator.
[[nodiscard]] int input_sets_for(const DeviceFacts& device, std::size_t bytes_per_set, std::size_t free_bytes,
                                 MeasureMode mode);

}  // namespace tilewright
