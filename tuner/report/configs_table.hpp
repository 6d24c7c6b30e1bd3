// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/analysis/roofline.hpp"
#include "tuner/report/table.hpp"
#include "tuner/report/tried.hpp"

/// Every config of a problem, fastest first, failures last: its time, how far it is from the best and from the ceiling,
/// what its kernels need of an SM, and what became of it. The winner has a star.
namespace tilewright {

/// The most that a kernel of a config needs, and the least occupancy. Nothing where it is not known.
struct ConfigNeeds {
  std::optional<std::int64_t> registers;
  /// Stored and loaded.
  std::optional<std::int64_t> spill_bytes;
  /// Static and dynamic, a block.
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
  /// The fastest of its problem; nothing when there is none.
  std::optional<double> best_ns;
};

/// From what the cache has; of each problem fastest first.
[[nodiscard]] std::vector<ConfigLine> config_lines(const Store& store, const OpDefinition* definition,
                                                   std::vector<TriedProblem> problems);

[[nodiscard]] Table configs_table(std::string title, const std::vector<ConfigLine>& lines);

}  // namespace tilewright
