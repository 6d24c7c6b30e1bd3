// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tuner/analysis/roofline.hpp"
#include "tuner/report/sources.hpp"

/// The columns of a roofline (tuner/analysis/roofline.hpp), the same in all tables. Pure.
namespace tilewright {

/// A time with its roofline; `timing` may be null.
struct Placed {
  const Roofline* roofline = nullptr;
  const Timing* timing = nullptr;
};
/// Columns of rates: for people GB/s if memory bounds the time, TFLOP/s if computing does, and the share of that
/// ceiling; for programs all rates, ceilings and shares.
[[nodiscard]] std::vector<Source<Placed>> rate_sources();
/// Bound, intensity, bytes and flops: text drops them first.
[[nodiscard]] std::vector<Source<Placed>> bound_sources();
/// The notes on these columns, below a table.
[[nodiscard]] std::vector<std::string> roofline_notes(const std::vector<Placed>& all);

/// Adapts sources to another kind of line, in which `place` finds the roofline and timing.
template <class Line>
void add_placed(std::vector<Source<Line>>& sources, const std::vector<Source<Placed>>& placed,
                const std::function<Placed(const Line&)>& place) {
  for (const Source<Placed>& source : placed) {
    sources.push_back({source.column, [cell = source.cell, place](const Line& line) { return cell(place(line)); }});
  }
}

}  // namespace tilewright
