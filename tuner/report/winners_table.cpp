// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/winners_table.hpp"

#include <algorithm>
#include <functional>

#include "tuner/report/units.hpp"

namespace tilewright {
namespace {

using CellOf = std::function<Cell(const WinnerLine&)>;

/// A column and where its cells come from, so that the two cannot get out of step.
struct Source {
  Column column;
  CellOf cell;
};

const Timing* timing(const WinnerLine& line) {
  const auto& found = line.row.winner.trial.timing;
  return found ? &*found : nullptr;
}

Cell timing_cell(const WinnerLine& line, double Timing::*member) {
  const Timing* found = timing(line);
  return found != nullptr ? Cell(found->*member) : Cell();
}

template <class Number>
Cell optional_cell(const std::optional<Number>& number) {
  return number ? Cell(*number) : Cell();
}

/// Half the width of the 95 % interval, as a share of the median.
Cell half_width(const WinnerLine& line) {
  const Timing* found = timing(line);
  if (found == nullptr || found->median_ns <= 0) return {};
  return (found->high_ns - found->low_ns) / 2 / found->median_ns;
}

/// Amount a nanosecond is 10^9 a second: GB/s for bytes, GFLOP/s for operations.
Cell giga_per_second(const WinnerLine& line, const std::optional<std::int64_t>& amount) {
  const Timing* found = timing(line);
  if (found == nullptr || !amount || found->median_ns <= 0) return {};
  return static_cast<double>(*amount) / found->median_ns;
}

Cell share_of_copy(const WinnerLine& line) {
  const Timing* found = timing(line);
  if (found == nullptr || !line.ceiling || line.ceiling->best_ns() <= 0 || found->median_ns <= 0) return {};
  return line.ceiling->best_ns() / found->median_ns;
}

Cell speedup(const WinnerLine& line) {
  const Timing* found = timing(line);
  if (found == nullptr || !line.row.winner.base_ns || found->median_ns <= 0) return {};
  return *line.row.winner.base_ns / found->median_ns;
}

bool launch_bound(const WinnerLine& line) { return timing(line) != nullptr && timing(line)->launch_bound(); }

void add_problem_columns(std::vector<Source>& sources, const Problem& first) {
  sources.push_back({{"shape_key", "", Unit::none, Shown::programs},
                     [](const WinnerLine& line) { return Cell(line.row.problem.key()); }});
  sources.push_back(
      {{"op", "", Unit::none, Shown::programs}, [](const WinnerLine& line) { return Cell(line.row.problem.spec.op); }});
  sources.push_back({{"dtype", "dtype", Unit::none, Shown::everywhere, true},
                     [](const WinnerLine& line) { return Cell(std::string(name(line.row.problem.spec.dtype))); }});
  for (const auto& [attribute, value] : first.spec.attributes) {
    sources.push_back(
        {{attribute, attribute, Unit::none, Shown::everywhere, true}, [attribute = attribute](const WinnerLine& line) {
           const std::string* found = line.row.problem.spec.attribute(attribute);
           return found != nullptr ? Cell(*found) : Cell();
         }});
  }
  for (const auto& [dim, extent] : first.dims) {
    sources.push_back({{dim, dim}, [dim = dim](const WinnerLine& line) { return Cell(line.row.problem.dim(dim)); }});
  }
}

void add_time_columns(std::vector<Source>& sources) {
  sources.push_back({{"winner", "winner", Unit::none, Shown::everywhere, false, true},
                     [](const WinnerLine& line) { return Cell(line.row.winner.trial.config.text()); }});
  sources.push_back({{"time_ns", "time", Unit::nanoseconds},
                     [](const WinnerLine& line) { return timing_cell(line, &Timing::median_ns); }});
  sources.push_back({{"half_interval_share", "±", Unit::share, Shown::people}, half_width});
  sources.push_back({{"time_low_ns", "", Unit::none, Shown::programs},
                     [](const WinnerLine& line) { return timing_cell(line, &Timing::low_ns); }});
  sources.push_back({{"time_high_ns", "", Unit::none, Shown::programs},
                     [](const WinnerLine& line) { return timing_cell(line, &Timing::high_ns); }});
  sources.push_back({{"floor_ns", "", Unit::none, Shown::programs},
                     [](const WinnerLine& line) { return timing_cell(line, &Timing::floor_ns); }});
  sources.push_back({{"launch_bound", "", Unit::none, Shown::programs},
                     [](const WinnerLine& line) { return Cell(launch_bound(line)); }});
}

void add_ceiling_columns(std::vector<Source>& sources) {
  sources.push_back(
      {{"bytes", "", Unit::none, Shown::programs}, [](const WinnerLine& line) { return optional_cell(line.bytes); }});
  sources.push_back(
      {{"gb_per_s", "GB/s", Unit::rate}, [](const WinnerLine& line) { return giga_per_second(line, line.bytes); }});
  sources.push_back({{"gflop_per_s", "", Unit::none, Shown::programs},
                     [](const WinnerLine& line) { return giga_per_second(line, line.flops); }});
  sources.push_back({{"copy_ceiling_ns", "", Unit::none, Shown::programs}, [](const WinnerLine& line) {
                       return line.ceiling && line.ceiling->best_ns() > 0 ? Cell(line.ceiling->best_ns()) : Cell();
                     }});
  sources.push_back({{"share_of_copy", "of copy", Unit::share}, share_of_copy});
  sources.push_back({{"base_ns", "", Unit::none, Shown::programs},
                     [](const WinnerLine& line) { return optional_cell(line.row.winner.base_ns); }});
  sources.push_back({{"speedup_over_base", "vs base", Unit::ratio}, speedup});
}

void add_evidence_columns(std::vector<Source>& sources) {
  sources.push_back({{"runner_up", "", Unit::none, Shown::programs}, [](const WinnerLine& line) {
                       const auto& second = line.row.winner.runner_up;
                       return second ? Cell(second->text()) : Cell();
                     }});
  sources.push_back({{"runner_up_ratio", "", Unit::none, Shown::programs},
                     [](const WinnerLine& line) { return optional_cell(line.row.winner.runner_up_ratio); }});
  sources.push_back({{"mode", "mode", Unit::none, Shown::everywhere, true},
                     [](const WinnerLine& line) { return Cell(std::string(name(line.row.mode))); }});
  sources.push_back({{"match", "match", Unit::none, Shown::everywhere, true},
                     [](const WinnerLine& line) { return Cell(line.match.text()); }});
  sources.push_back({{"device", "device", Unit::none, Shown::everywhere, true},
                     [](const WinnerLine& line) { return Cell(line.row.device.fingerprint()); }});
  sources.push_back({{"timed_by", "", Unit::none, Shown::programs}, [](const WinnerLine& line) {
                       return Cell(std::string(line.row.device.is_cpu() ? "emulator" : "gpu"));
                     }});
  sources.push_back({{"gpu_uuid", "", Unit::none, Shown::programs},
                     [](const WinnerLine& line) { return Cell(line.row.winner.trial.gpu_uuid); }});
  sources.push_back({{"measured_at", "", Unit::none, Shown::programs},
                     [](const WinnerLine& line) { return Cell(line.row.winner.trial.measured_at); }});
}

std::vector<std::string> notes_of(const std::vector<WinnerLine>& lines) {
  std::vector<std::string> notes;
  const auto on_cpu = [](const WinnerLine& line) { return line.row.device.is_cpu(); };
  if (std::any_of(lines.begin(), lines.end(), on_cpu)) notes.push_back(emulator_note());
  const auto bound = std::count_if(lines.begin(), lines.end(), launch_bound);
  if (bound > 0) {
    notes.push_back(std::to_string(bound) + (bound == 1 ? " time is" : " times are") +
                    " launch-bound (within twice an empty kernel's): the launch is what was timed.");
  }
  return notes;
}

}  // namespace

const std::string& emulator_note() {
  static const std::string kNote =
      "Times of device cpu are the emulator's on this machine's processor: they say nothing about a GPU.";
  return kNote;
}

Table winners_table(std::string title, const std::vector<WinnerLine>& lines) {
  Table table;
  table.title = std::move(title);
  std::vector<Source> sources;
  add_problem_columns(sources, lines.empty() ? Problem{} : lines.front().row.problem);
  add_time_columns(sources);
  add_ceiling_columns(sources);
  add_evidence_columns(sources);
  for (const Source& source : sources) table.columns.push_back(source.column);
  for (const WinnerLine& line : lines) {
    std::vector<Cell> cells;
    for (const Source& source : sources) cells.push_back(source.cell(line));
    table.rows.push_back(std::move(cells));
  }
  table.notes = notes_of(lines);
  return table;
}

}  // namespace tilewright
