// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/serve/fit.hpp"
#include "cache/store/store.hpp"
#include "tuner/analysis/roofline.hpp"
#include "tuner/report/table.hpp"

/// The table of winners, one row for each problem: the served config, its time and 95 % interval, its memory traffic,
/// its share of the measured ceiling of the same traffic, its bound, and its speed-up over the op's base.
namespace tilewright {

/// A winner with the figures that need a definition or another row of the cache.
struct WinnerLine : Roofline {
  Store::WinnerRow row;
  Match match;
};
/// nullopt if a figure that it needs is unknown.
[[nodiscard]] std::optional<Bound> bound_of(const WinnerLine& line);

/// Columns `dtype`, attributes and dims are those of the first line's spec: give lines of one op. A note tells if times
/// are the emulator's. With `parameters` each parameter of the configs is a column for programs.
[[nodiscard]] Table winners_table(std::string title, const std::vector<WinnerLine>& lines, bool parameters = false);

/// The sentence below tables with times of the emulator.
[[nodiscard]] const std::string& emulator_note();

}  // namespace tilewright
