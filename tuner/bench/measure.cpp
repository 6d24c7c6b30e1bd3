// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "tuner/bench/bench.hpp"

namespace tilewright {
namespace {

// Fewer would have an interval that means nothing, whatever the budget says.
constexpr int kFewestRounds = 3;

bool settled(const std::vector<double>& rounds, const StopRule& rule) {
  if (static_cast<int>(rounds.size()) < std::max(rule.min_rounds, kFewestRounds)) return false;
  const Timing timing = summarise(rounds);
  return (timing.high_ns - timing.low_ns) / 2 <= rule.relative_interval * timing.median_ns;
}

// What a GPU computes for a byte before power, and not memory, is its bound: far below the ridge of tensor cores (some 200),
// far above that of what memory bounds (under 10).
constexpr std::int64_t kComputeBoundFlopsPerByte = 32;
constexpr int kRestOfComputeBound = 2;
constexpr std::chrono::nanoseconds kLongestRest = std::chrono::milliseconds(100);

/// A round, and the rest after it.
double run_and_rest(Rounds& rounds, int rest) {
  const auto begin = std::chrono::steady_clock::now();
  const double value = rounds.run();
  const std::chrono::nanoseconds length = std::chrono::steady_clock::now() - begin;
  if (rest > 0) std::this_thread::sleep_for(std::min(rest * length, kLongestRest));
  return value;
}

}  // namespace

int rest_for(const DeviceFacts& device, std::int64_t flops, std::int64_t bytes) {
  const bool computes = flops / kComputeBoundFlopsPerByte > bytes;
  return computes && !device.is_cpu() ? kRestOfComputeBound : 0;
}

Timing measure(Rounds& rounds, const StopRule& rule, const std::function<bool()>& interrupted) {
  const auto deadline = std::chrono::steady_clock::now() + rule.budget;
  const auto stopped = [&] { return interrupted && interrupted(); };
  std::vector<double> values;
  if (stopped()) return {};
  // The first round pays for what is loaded and translated once.
  static_cast<void>(run_and_rest(rounds, rule.rest));
  while (static_cast<int>(values.size()) < rule.max_rounds && !stopped()) {
    const bool spent = std::chrono::steady_clock::now() >= deadline;
    if (spent && static_cast<int>(values.size()) >= kFewestRounds) break;
    values.push_back(run_and_rest(rounds, rule.rest));
    if (settled(values, rule)) break;
  }
  if (values.empty()) return {};
  return summarise(std::move(values));
}

}  // namespace tilewright
