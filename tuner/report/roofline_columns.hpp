// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tuner/analysis/roofline.hpp"
#include "tuner/report/sources.hpp"

/// The columns of a roofline (tuner/analysis/roofline.hpp), the same in every table. Pure.
namespace tilewright {

/// A time with its roofline; `timing` may be null.
struct Placed {
  const Roofline* roofline = nullptr;
  const Timing* timing = nullptr;
};
/// Columns of rates: for people GB/s where memory bounds, TFLOP/s where computing does, the share of that ceiling, and
/// its source.
[[nodiscard]] std::vector<Source<Placed>> rate_sources();
/// Bound, intensity, bytes and flops: text leaves them out first.
[[nodiscard]] std::vector<Source<Placed>> bound_sources();
/// The notes of these below a table.
[[nodiscard]] std::vector<std::string> roofline_notes(const std::vector<Placed>& all);

/// Sources of another kind of line, which `place` finds in it.
template <class Line>
void add_placed(std::vector<Source<Line>>& sources, const std::vector<Source<Placed>>& placed,
                const std::function<Placed(const Line&)>& place) {
  for (const Source<Placed>& source : placed) {
    sources.push_back({source.column, [cell = source.cell, place](const Line& line) { return cell(place(line)); }});
  }
}

}  // namespace tilewright
