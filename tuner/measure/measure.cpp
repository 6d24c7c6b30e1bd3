// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "tuner/measure/measure.hpp"

namespace tilewright {
namespace {

// Fewer rounds give a meaningless interval, whatever the budget.
constexpr int kFewestRounds = 3;

bool settled(const std::vector<double>& rounds, const StopRule& rule) {
  if (static_cast<int>(rounds.size()) < std::max(rule.min_rounds, kFewestRounds)) return false;
  const Timing timing = summarise(rounds);
  return (timing.high_ns - timing.low_ns) / 2 <= rule.relative_interval * timing.median_ns;
}

// Operations per byte above which power, not memory, bounds a GPU: far below the ridge of tensor cores (some 200), far
// above memory-bound problems (under 10).
constexpr std::int64_t kComputeBoundFlopsPerByte = 32;
constexpr int kRestOfComputeBound = 2;
constexpr std::chrono::nanoseconds kLongestRest = std::chrono::milliseconds(100);
// In a round this long, one-time loading and translation do not show.
constexpr std::chrono::nanoseconds kLongRound = std::chrono::milliseconds(100);

/// Runs a round, and rests after it.
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

StopRule sustained(StopRule rule) {
  rule.load = std::chrono::seconds(1);
  // Does not give up: the question is how slow a config is now.
  rule.give_up_ns = 0;
  return rule;
}

Timing measure(Rounds& rounds, const StopRule& asked, const std::function<bool()>& interrupted) {
  StopRule rule = asked;
  if (rule.load.count() > 0) rule.rest = 0;
  const auto loaded = std::chrono::steady_clock::now() + rule.load;
  while (std::chrono::steady_clock::now() < loaded && !(interrupted && interrupted())) static_cast<void>(rounds.run());
  const auto deadline = std::chrono::steady_clock::now() + rule.budget;
  const auto stopped = [&] { return interrupted && interrupted(); };
  std::vector<double> values;
  if (stopped()) return {};
  const auto hopeless = [&](double value) { return rule.give_up_ns > 0 && value > rule.give_up_ns; };
  // The first round includes one-time loading and translation, so it counts only if it is long enough.
  const auto begin = std::chrono::steady_clock::now();
  const double first = run_and_rest(rounds, rule.rest);
  if (hopeless(first)) return summarise({first});
  if (std::chrono::steady_clock::now() - begin >= std::max(rule.budget, kLongRound)) values.push_back(first);
  while (static_cast<int>(values.size()) < rule.max_rounds && !stopped()) {
    const bool spent = std::chrono::steady_clock::now() >= deadline;
    if (spent && static_cast<int>(values.size()) >= kFewestRounds) break;
    values.push_back(run_and_rest(rounds, rule.rest));
    if (hopeless(values.back()) || settled(values, rule)) break;
  }
  if (values.empty()) return {};
  return summarise(std::move(values));
}

std::vector<Timing> measure_together(std::span<Rounds* const> rounds, const StopRule& rule,
                                     const std::function<bool()>& interrupted) {
  const auto deadline = std::chrono::steady_clock::now() + rule.budget * static_cast<std::int64_t>(rounds.size());
  const auto stopped = [&] { return interrupted && interrupted(); };
  std::vector<std::vector<double>> values(rounds.size());
  int turns = 0;
  const auto settled_all = [&] {
    return std::all_of(values.begin(), values.end(), [&](const auto& each) { return settled(each, rule); });
  };
  for (Rounds* each : rounds) {
    if (!stopped()) static_cast<void>(run_and_rest(*each, rule.rest));
  }
  while (!rounds.empty() && turns < rule.max_rounds && !stopped()) {
    if (turns >= kFewestRounds && std::chrono::steady_clock::now() >= deadline) break;
    std::vector<double> turn;
    for (Rounds* each : rounds) {
      if (!stopped()) turn.push_back(run_and_rest(*each, rule.rest));
    }
    // An incomplete turn counts for none.
    if (turn.size() < rounds.size()) break;
    for (std::size_t i = 0; i < rounds.size(); ++i) values[i].push_back(turn[i]);
    ++turns;
    if (settled_all()) break;
  }
  std::vector<Timing> timings(rounds.size());
  if (turns == 0) return timings;
  for (std::size_t i = 0; i < rounds.size(); ++i) timings[i] = summarise(std::move(values[i]));
  return timings;
}

}  // namespace tilewright
