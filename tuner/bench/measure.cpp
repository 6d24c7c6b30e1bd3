// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
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

}  // namespace

Timing measure(Rounds& rounds, const StopRule& rule, const std::function<bool()>& interrupted) {
  const auto deadline = std::chrono::steady_clock::now() + rule.budget;
  const auto stopped = [&] { return interrupted && interrupted(); };
  std::vector<double> values;
  if (stopped()) return {};
  // The first round pays for what is loaded and translated once.
  static_cast<void>(rounds.run());
  while (static_cast<int>(values.size()) < rule.max_rounds && !stopped()) {
    const bool spent = std::chrono::steady_clock::now() >= deadline;
    if (spent && static_cast<int>(values.size()) >= kFewestRounds) break;
    values.push_back(rounds.run());
    if (settled(values, rule)) break;
  }
  if (values.empty()) return {};
  return summarise(std::move(values));
}

}  // namespace tilewright
