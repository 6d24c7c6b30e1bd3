// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cache/serve/expectation.hpp"
#include "cache/serve/match.hpp"
#include "tuner/analysis/roofline.hpp"
#include "tuner/report/table.hpp"

/// The config that serves one problem, by device: the config, how well it fits, on what evidence, and where its time
/// stands under what was measured of the device.
namespace tilewright {

/// One answer; `device` is the fingerprint that was asked for, which may not be the one that the winner is of.
struct ServedLine {
  std::string device;
  MatchedRow served;
  /// The roofline of the problem that was measured.
  Roofline roofline{};
  /// The expectation of the problem that was asked for, where that is another.
  std::optional<Expectation> expected{};
  std::int64_t own_bytes = 0;
};

/// A record a device. Says so when times are the emulator's.
[[nodiscard]] Table served_table(const Problem& problem, const std::vector<ServedLine>& lines);

}  // namespace tilewright
