// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tuner/report/table.hpp"
#include "tuner/report/winners_table.hpp"

/// Winners in a few lines: how many there are, how near to their ceilings, and how far from their bases. Pure.
namespace tilewright {

/// A row an op, dtype, mode and device; with `attributes` one of each of their values, too. In the order of the lines.
[[nodiscard]] Table summary_table(std::string title, const std::vector<WinnerLine>& lines, bool attributes);

}  // namespace tilewright
