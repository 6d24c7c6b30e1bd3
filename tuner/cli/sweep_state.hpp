// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cache/model/records.hpp"

/// The state of a sweep as the lines of a live block, and as one line of a log. Values and pure functions; progress.cpp
/// keeps the values up to date.
namespace tilewright::cli {

struct ProblemState {
  std::string key;
  /// From 1, in the order of the sweep.
  std::size_t index = 0;
  std::size_t configs = 0;
  /// Configs: known to the cache, done (the known ones included), and failed among these.
  std::size_t known = 0;
  std::size_t done = 0;
  std::size_t failed = 0;
  std::optional<Trial> best;
  /// The time of the best before this one; 0: there was none.
  double before_ns = 0;
  /// `done` when the best was found.
  std::size_t best_at = 0;
};

/// The state of one device.
struct LaneState {
  /// Empty if there is one device.
  std::string device;
  /// Problems under way, the latest heard of first.
  std::list<ProblemState> problems;
  DeviceReadings readings;
};

struct SweepState {
  double seconds = 0;
  /// Problems in all, begun and done.
  std::size_t problems = 0;
  std::size_t begun = 0;
  std::size_t finished = 0;
  /// Configs tried, and the failures among them by kind.
  std::size_t tried = 0;
  std::map<TrialStatus, std::size_t> failures;
  std::size_t compiling = 0;
  std::list<LaneState> lanes;
};

/// Judged by the configs tried so far, as if problems to come were like those under way; nullopt if too few are.
[[nodiscard]] std::optional<double> seconds_to_go(const SweepState& state);

/// The lines for a terminal of `columns`: the sweep, each device, its best config so far, failures.
[[nodiscard]] std::vector<std::string> block_lines(const SweepState& state, std::size_t columns);

/// A log's line on one device's problem.
[[nodiscard]] std::string log_line(const SweepState& state, const LaneState& lane);

/// "12 wrong_result, 1 crashed"; empty if there are none.
[[nodiscard]] std::string failures_text(const std::map<TrialStatus, std::size_t>& failures);

}  // namespace tilewright::cli
