// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/analysis/roofline.hpp"
#include "tuner/report/table.hpp"
#include "tuner/report/tried.hpp"

/// The configs of a problem, fastest first, failures last: their time, their distance from the best and from the
/// ceiling, the needs of their kernels on an SM, and their outcome. The winner has a star.
namespace tilewright {

/// The largest needs of a config's kernels, and the least occupancy. nullopt if unknown.
struct ConfigNeeds {
  std::optional<std::int64_t> registers;
  /// Bytes stored and loaded.
  std::optional<std::int64_t> spill_bytes;
  /// Static and dynamic, for each block.
  std::optional<std::int64_t> shared_bytes;
  std::optional<double> occupancy;
};

struct ConfigLine {
  Problem problem;
  DeviceFacts device;
  MeasureMode mode = MeasureMode::cold;
  Trial trial;
  Roofline roofline;
  ConfigNeeds needs;
  bool winner = false;
  /// The fastest time of its problem; nullopt if there is none.
  std::optional<double> best_ns;
};

/// The lines of these problems, each problem's fastest first.
[[nodiscard]] std::vector<ConfigLine> config_lines(const Store& store, const OpDefinition* definition,
                                                   std::vector<TriedProblem> problems);

[[nodiscard]] Table configs_table(std::string title, const std::vector<ConfigLine>& lines);

}  // namespace tilewright
