// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tuner/measure/measure.hpp"

namespace tilewright {
namespace {

// Limits of a graph: longer ones take long to make and tell no more. With more sets each is used at most once per
// round, and the device clears its cache before the round (docs/measuring.md).
constexpr int kMostLaunches = 1024;
constexpr int kMostSets = 1024;
// The share of free memory for input sets. The rest is for workspaces and references.
constexpr double kMemoryShare = 0.8;

}  // namespace

int launches_for(double estimate_ns, std::chrono::nanoseconds target, int input_sets) {
  const int sets = std::max(input_sets, 1);
  const double wanted = estimate_ns > 0 ? std::ceil(static_cast<double>(target.count()) / estimate_ns) : kMostLaunches;
  // Whole turns of the rotation: each set counts equally, and the next round begins with the coldest set.
  const int most_turns = std::max(kMostLaunches / sets, 1);
  const double turns = std::round(std::min(wanted, double{kMostLaunches}) / sets);
  return sets * std::clamp(static_cast<int>(turns), 1, most_turns);
}

int input_sets_for(const DeviceFacts& device, std::size_t bytes_per_set, std::size_t free_bytes, MeasureMode mode) {
  if (mode != MeasureMode::cold || device.is_cpu()) return 1;
  const auto set = static_cast<std::int64_t>(std::max<std::size_t>(bytes_per_set, 1));
  const std::int64_t wanted = std::clamp<std::int64_t>(2 * device.l2_bytes / set + 1, 2, kMostSets);
  const auto room = static_cast<std::int64_t>(kMemoryShare * static_cast<double>(free_bytes)) / set;
  return static_cast<int>(std::clamp<std::int64_t>(room, 1, wanted));
}

}  // namespace tilewright
