// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/served_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tuner/report/units.hpp"
#include "tuner/report/winners_table.hpp"

namespace tilewright {
namespace {

std::vector<Column> served_columns() {
  return {
      {"shape_key", "problem"},
      {"match", "match"},
      {"match_fit", "", Unit::none, Shown::programs},
      {"match_freshness", "", Unit::none, Shown::programs},
      {"match_device", "", Unit::none, Shown::programs},
      {"winner", "winner"},
      {"time_ns", "time", Unit::nanoseconds},
      {"half_interval_share", "±", Unit::share, Shown::people},
      {"time_low_ns", "", Unit::none, Shown::programs},
      {"time_high_ns", "", Unit::none, Shown::programs},
      {"mode", "mode"},
      {"measured_shape_key", "measured on"},
      {"speedup_over_base", "vs base", Unit::ratio},
      {"runner_up", "runner-up"},
      {"runner_up_ratio", "its time", Unit::ratio},
      {"configs_considered", "configs"},
      {"configs_failed", "of these failed"},
      {"measured_at", "", Unit::none, Shown::programs},
      {"measured", "measured", Unit::none, Shown::people},
      {"device", "device"},
      {"winner_device", "", Unit::none, Shown::programs},
      {"timed_by", "", Unit::none, Shown::programs},
  };
}

template <class Number>
Cell cell_of(const std::optional<Number>& value) {
  return value ? Cell(*value) : Cell();
}

std::vector<Cell> served_cells(const Problem& problem, const ServedLine& line) {
  const Match& match = line.served.match;
  std::vector<Cell> cells{problem.key(), match.text(), std::string(name(match.fit))};
  const std::size_t columns = served_columns().size();
  if (!line.served.row) {
    cells.resize(columns);
    cells[columns - 3] = line.device;
    return cells;
  }
  const Store::WinnerRow& row = *line.served.row;
  const Winner& winner = row.winner;
  cells.insert(cells.end(),
               {std::string(name(match.freshness)), std::string(name(match.device)), winner.trial.config.text()});
  if (const auto& timing = winner.trial.timing) {
    const Cell half = timing->median_ns > 0 ? Cell((timing->high_ns - timing->low_ns) / 2 / timing->median_ns) : Cell();
    cells.insert(cells.end(), {timing->median_ns, half, timing->low_ns, timing->high_ns});
  } else {
    cells.insert(cells.end(), {Cell(), Cell(), Cell(), Cell()});
  }
  const bool timed_base = winner.base_ns && winner.trial.timing && winner.trial.timing->median_ns > 0;
  const std::int64_t moment = winner.trial.measured_at;
  cells.insert(cells.end(),
               {std::string(name(row.mode)), row.problem.key(),
                timed_base ? Cell(*winner.base_ns / winner.trial.timing->median_ns) : Cell(),
                winner.runner_up ? Cell(winner.runner_up->text()) : Cell(), cell_of(winner.runner_up_ratio),
                std::int64_t{winner.configs_considered}, std::int64_t{winner.configs_failed}, moment,
                moment != 0 ? Cell(show_moment(moment)) : Cell(), line.device, row.device.fingerprint(),
                std::string(row.device.is_cpu() ? "emulator" : "gpu")});
  return cells;
}

}  // namespace

Table served_table(const Problem& problem, const std::vector<ServedLine>& lines) {
  Table table;
  table.columns = served_columns();
  table.as_records = true;
  bool emulated = false;
  for (const ServedLine& line : lines) {
    table.rows.push_back(served_cells(problem, line));
    emulated = emulated || (line.served.row && line.served.row->device.is_cpu());
  }
  if (emulated) table.notes.push_back(emulator_note());
  return table;
}

}  // namespace tilewright
