// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cache/serve/expectation.hpp"
#include "cache/serve/matched_row.hpp"
#include "tuner/analysis/roofline.hpp"
#include "tuner/report/table.hpp"

/// The config that serves one problem, by device: the config, its fit, its evidence, and the place of its time under
/// the measured ceilings of the device.
namespace tilewright {

/// One answer. `device` is the fingerprint asked for; the winner may be of another device.
struct ServedLine {
  std::string device;
  MatchedRow served;
  /// The roofline of the measured problem.
  Roofline roofline{};
  /// The expectation for the problem asked for, if another one was measured.
  std::optional<Expectation> expected{};
  std::int64_t own_bytes = 0;
};

/// One record for each device. A note tells if times are the emulator's.
[[nodiscard]] Table served_table(const Problem& problem, const std::vector<ServedLine>& lines);

}  // namespace tilewright
