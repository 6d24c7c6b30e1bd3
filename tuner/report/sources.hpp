// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "cache/model/records.hpp"
#include "tuner/report/table.hpp"

/// Columns with the functions of their cells, so that the two cannot get out of step.
namespace tilewright {

template <class Line>
struct Source {
  Column column;
  std::function<Cell(const Line&)> cell;
  /// What the op's definition calls it, "attribute" or "dim"; empty: the table itself has named the column.
  std::string named_by_op{};
};

/// Adds the columns to `table`, and a row for each line. An attribute with the name of another column, such as "mode",
/// is "attribute_mode".
template <class Line>
void fill(Table& table, const std::vector<Source<Line>>& sources, const std::vector<Line>& lines) {
  for (const Source<Line>& source : sources) {
    Column& made = table.columns.emplace_back(source.column);
    const auto is_same = [&](const Source<Line>& each) { return each.column.name == source.column.name; };
    if (source.named_by_op.empty() || std::ranges::count_if(sources, is_same) == 1) continue;
    made.name = source.named_by_op + "_" + source.column.name;
    made.heading = made.name;
  }
  for (const Line& line : lines) {
    std::vector<Cell> cells;
    for (const Source<Line>& source : sources) cells.push_back(source.cell(line));
    table.rows.push_back(std::move(cells));
  }
}

/// A column for people and programs.
[[nodiscard]] inline Column column(std::string name, std::string heading, Unit unit = Unit::none,
                                   Shown shown = Shown::everywhere) {
  return {std::move(name), std::move(heading), unit, shown};
}
/// A column in JSON and CSV alone.
[[nodiscard]] inline Column data_column(std::string name) { return {std::move(name), "", Unit::none, Shown::programs}; }
/// A column in text and Markdown alone.
[[nodiscard]] inline Column people_column(std::string name, std::string heading, Unit unit = Unit::none) {
  return {std::move(name), std::move(heading), unit, Shown::people};
}
/// A column for programs, and for people if there is room.
[[nodiscard]] inline Column spare_column(std::string name, std::string heading, Unit unit = Unit::none,
                                         Shown shown = Shown::everywhere) {
  return {std::move(name), std::move(heading), unit, shown, false, false, true};
}
/// A column that text tells once if all rows agree and the table is too wide.
[[nodiscard]] inline Column common_column(std::string name, std::string heading) {
  return {std::move(name), std::move(heading), Unit::none, Shown::everywhere, true};
}

/// A column of configs: if there is no room, broken over lines and without the parameters that all configs share.
[[nodiscard]] inline Column config_column(std::string name, std::string heading) {
  Column made = column(std::move(name), std::move(heading));
  made.breakable = true;
  made.config = true;
  return made;
}

template <class Value>
[[nodiscard]] Cell cell_of(const std::optional<Value>& value) {
  if (!value) return {};
  return Cell(*value);
}

/// Cells of a winner; empty if a figure that they need is unknown.
[[nodiscard]] Cell time_cell(const Winner& winner, double Timing::*member);
/// Half the width of the 95 % interval, as a share of the median.
[[nodiscard]] Cell half_interval_cell(const Trial& trial);
/// The base's median over the winner's.
[[nodiscard]] Cell speedup_cell(const Winner& winner);
[[nodiscard]] Cell runner_up_cell(const Winner& winner);
/// The number of finalists without rounds; empty if there are none.
[[nodiscard]] Cell without_rounds_cell(const Winner& winner);

}  // namespace tilewright
