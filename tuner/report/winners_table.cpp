// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/winners_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tuner/report/problem_sources.hpp"
#include "tuner/report/roofline_columns.hpp"
#include "tuner/report/sources.hpp"

namespace tilewright {
namespace {

using WinnerSources = std::vector<Source<WinnerLine>>;

const Winner& winner(const WinnerLine& line) { return line.row.winner; }

const Timing* timing_of(const WinnerLine& line) {
  const auto& timing = winner(line).trial.timing;
  return timing ? &*timing : nullptr;
}

bool launch_bound(const WinnerLine& line) { return timing_of(line) != nullptr && timing_of(line)->launch_bound(); }

void add_time(WinnerSources& sources) {
  sources.push_back({config_column("winner", "winner"),
                     [](const WinnerLine& line) { return Cell(winner(line).trial.config.text()); }});
  sources.push_back({column("time_ns", "time", Unit::nanoseconds),
                     [](const WinnerLine& line) { return time_cell(winner(line), &Timing::median_ns); }});
  sources.push_back({people_column("half_interval_share", "±", Unit::share),
                     [](const WinnerLine& line) { return half_interval_cell(winner(line).trial); }});
  for (const auto& [name, member] :
       {std::pair("time_low_ns", &Timing::low_ns), std::pair("time_high_ns", &Timing::high_ns),
        std::pair("floor_ns", &Timing::floor_ns)}) {
    sources.push_back(
        {data_column(name), [member = member](const WinnerLine& line) { return time_cell(winner(line), member); }});
  }
  sources.push_back({data_column("launch_bound"), [](const WinnerLine& line) { return Cell(launch_bound(line)); }});
}

void add_ceiling(WinnerSources& sources) {
  const std::function<Placed(const WinnerLine&)> place = [](const WinnerLine& line) {
    return Placed{&line, timing_of(line)};
  };
  add_placed(sources, rate_sources(), place);
  sources.push_back({data_column("base_ns"), [](const WinnerLine& line) { return cell_of(winner(line).base_ns); }});
  sources.push_back({spare_column("speedup_over_base", "vs base", Unit::ratio),
                     [](const WinnerLine& line) { return speedup_cell(winner(line)); }});
  add_placed(sources, bound_sources(), place);
}

void add_evidence(WinnerSources& sources) {
  sources.push_back({data_column("runner_up"), [](const WinnerLine& line) { return runner_up_cell(winner(line)); }});
  sources.push_back(
      {data_column("runner_up_ratio"), [](const WinnerLine& line) { return cell_of(winner(line).runner_up_ratio); }});
  sources.push_back(
      {common_column("mode", "mode"), [](const WinnerLine& line) { return Cell(std::string(name(line.row.mode))); }});
  sources.push_back({common_column("regime", "regime"),
                     [](const WinnerLine& line) { return Cell(std::string(name(winner(line).choice.regime))); }});
  sources.push_back({common_column("match", "match"), [](const WinnerLine& line) { return Cell(line.match.text()); }});
  sources.push_back(
      {common_column("device", "device"), [](const WinnerLine& line) { return Cell(line.row.device.fingerprint()); }});
  sources.push_back({data_column("timed_by"), [](const WinnerLine& line) {
                       return Cell(std::string(line.row.device.is_cpu() ? "emulator" : "gpu"));
                     }});
  sources.push_back({data_column("finalists_without_rounds"),
                     [](const WinnerLine& line) { return without_rounds_cell(winner(line)); }});
  sources.push_back(
      {data_column("gpu_uuid"), [](const WinnerLine& line) { return Cell(winner(line).trial.gpu_uuid); }});
  sources.push_back(
      {data_column("measured_at"), [](const WinnerLine& line) { return Cell(winner(line).trial.measured_at); }});
}

std::vector<std::string> notes_of(const std::vector<WinnerLine>& lines) {
  std::vector<std::string> notes;
  const auto on_cpu = [](const WinnerLine& line) { return line.row.device.is_cpu(); };
  if (std::any_of(lines.begin(), lines.end(), on_cpu)) notes.push_back(emulator_note());
  const auto bare = std::count_if(lines.begin(), lines.end(),
                                  [](const WinnerLine& line) { return winner(line).choice.without_rounds > 0; });
  if (bare > 0) {
    notes.push_back(fmt::format("{} partly evidenced: of the finalists that lost, times were kept and no rounds.",
                                bare == 1 ? "1 winner is" : fmt::format("{} winners are", bare)));
  }
  std::vector<Placed> placed;
  for (const WinnerLine& line : lines) placed.push_back({&line, timing_of(line)});
  const std::vector<std::string> more = roofline_notes(placed);
  notes.insert(notes.end(), more.begin(), more.end());
  return notes;
}

}  // namespace

std::optional<Bound> bound_of(const WinnerLine& line) { return bound_of(line, timing_of(line)); }

const std::string& emulator_note() {
  static const std::string kNote =
      "Times of device cpu are the emulator's on this machine's processor: they say nothing about a GPU.";
  return kNote;
}

Table winners_table(std::string title, const std::vector<WinnerLine>& lines, bool parameters) {
  Table table;
  table.title = std::move(title);
  WinnerSources sources;
  add_problem<WinnerLine>(sources, lines.empty() ? Problem{} : lines.front().row.problem,
                          [](const WinnerLine& line) -> const Problem& { return line.row.problem; });
  add_time(sources);
  add_ceiling(sources);
  add_evidence(sources);
  if (parameters) {
    add_parameters<WinnerLine>(sources, lines,
                               [](const WinnerLine& line) -> const Config& { return winner(line).trial.config; });
  }
  fill(table, sources, lines);
  table.notes = notes_of(lines);
  return table;
}

}  // namespace tilewright
