// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/floors.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

#include "tuner/measure/measure.hpp"

namespace tilewright {
namespace {

// A short look suffices for a property of the device.
constexpr StopRule kRule{
    .relative_interval = 0.02, .min_rounds = 5, .max_rounds = 20, .budget = std::chrono::milliseconds(10)};

}  // namespace

double Floors::ns(MeasureMode mode, int launches, const std::function<bool()>& interrupted) {
  const auto measured = static_cast<int>(std::bit_floor(static_cast<unsigned>(std::max(launches, 1))));
  if (const auto known = known_.find({mode, measured}); known != known_.end()) return known->second;
  const auto rounds = device_.empty_rounds(mode, measured);
  const Timing timing = measure(*rounds, kRule, interrupted);
  if (!timing.rounds_ns.empty()) known_.emplace(std::pair(mode, measured), timing.median_ns);
  return timing.median_ns;
}

}  // namespace tilewright
