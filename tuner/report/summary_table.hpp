// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tuner/report/table.hpp"
#include "tuner/report/winners_table.hpp"

/// Winners in a few lines: their number, their distance from the ceilings, and their speed-up over the bases. Pure.
namespace tilewright {

/// One row for each op, dtype, mode and device, split by attributes if asked. In the order of the lines.
[[nodiscard]] Table summary_table(std::string title, const std::vector<WinnerLine>& lines, bool attributes);

}  // namespace tilewright
