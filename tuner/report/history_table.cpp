// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/history_table.hpp"

#include <algorithm>
#include <utility>

#include "cache/base/units.hpp"
#include "tuner/analysis/intervals.hpp"
#include "tuner/report/problem_sources.hpp"
#include "tuner/report/sources.hpp"
#include "tuner/report/winners_table.hpp"

namespace tilewright {
namespace {

using HistorySources = std::vector<Source<HistoryLine>>;

std::optional<SpeedUp> gain(const HistoryLine& line) {
  if (!line.before || !timed(*line.before) || !timed(line.trial)) return std::nullopt;
  return speed_up(*line.before, line.trial);
}

Cell verdict_cell(const HistoryLine& line) {
  if (!line.before) return Cell("first");
  const std::optional<SpeedUp> ratio = gain(line);
  if (!ratio) return {};
  if (!ratio->significant()) return Cell("equal");
  return Cell(ratio->ratio > 1 ? "faster" : "slower");
}

/// "config, driver": the differences between the two.
Cell change_cell(const HistoryLine& line) {
  if (!line.before) return {};
  std::string text;
  const auto add = [&](const char* what, bool differs) {
    if (differs) text += (text.empty() ? "" : ", ") + std::string(what);
  };
  const Trial& now = line.trial;
  const Trial& then = *line.before;
  add("config", now.config != then.config);
  add("driver", now.versions.driver != then.versions.driver);
  add("compiler", now.versions.compiler != then.versions.compiler);
  add("Tilewright", now.versions.tilewright != then.versions.tilewright);
  add("GPU", now.gpu_uuid != then.gpu_uuid);
  return Cell(text.empty() ? "measured again" : text);
}

void add_time(HistorySources& sources) {
  const auto time = [&](Column made, double Timing::*member) {
    sources.push_back({std::move(made), [member](const HistoryLine& line) {
                         return line.trial.timing ? Cell((*line.trial.timing).*member) : Cell();
                       }});
  };
  time(column("time_ns", "time", Unit::nanoseconds), &Timing::median_ns);
  sources.push_back({spare_column("half_interval_share", "±", Unit::share, Shown::people),
                     [](const HistoryLine& line) { return half_interval_cell(line.trial); }});
  time(data_column("time_low_ns"), &Timing::low_ns);
  time(data_column("time_high_ns"), &Timing::high_ns);
}

void add_gain(HistorySources& sources) {
  const auto bound = [&](Column made, double SpeedUp::*member) {
    sources.push_back({std::move(made), [member](const HistoryLine& line) {
                         const std::optional<SpeedUp> ratio = gain(line);
                         return ratio ? Cell((*ratio).*member) : Cell();
                       }});
  };
  bound(column("speedup", "speed-up", Unit::ratio), &SpeedUp::ratio);
  bound(data_column("speedup_at_least"), &SpeedUp::low);
  bound(data_column("speedup_at_most"), &SpeedUp::high);
  sources.push_back({column("verdict", "than before"), verdict_cell});
  sources.push_back({column("changed", "changed"), change_cell});
}

void add_versions(HistorySources& sources) {
  sources.push_back({spare_column("driver", "driver"), [](const HistoryLine& line) {
                       const std::string text = driver_text(line.trial.versions.driver);
                       return text.empty() ? Cell() : Cell(text);
                     }});
  sources.push_back(
      {spare_column("compiler", "compiler"), [](const HistoryLine& line) { return line.trial.versions.compiler; }});
  sources.push_back({spare_column("tilewright", "Tilewright"),
                     [](const HistoryLine& line) { return line.trial.versions.tilewright; }});
  sources.push_back({common_column("mode", "mode"),
                     [](const HistoryLine& line) { return Cell(std::string(name(line.trial.mode))); }});
  sources.push_back({common_column("device", "device"), [](const HistoryLine& line) { return Cell(line.device); }});
  sources.push_back({data_column("gpu_uuid"), [](const HistoryLine& line) { return Cell(line.trial.gpu_uuid); }});
}

}  // namespace

Table history_table(std::string title, const std::vector<HistoryLine>& lines) {
  Table table;
  table.title = std::move(title);
  HistorySources sources;
  add_problem<HistoryLine>(sources, lines.empty() ? Problem{} : lines.front().problem,
                           [](const HistoryLine& line) -> const Problem& { return line.problem; });
  Column served = column("served", "served");
  served.mark = true;
  sources.push_back({served, [](const HistoryLine& line) { return Cell(line.now); }});
  sources.push_back({data_column("measured_at"), [](const HistoryLine& line) { return Cell(line.trial.measured_at); }});
  sources.push_back({people_column("measured", "measured"),
                     [](const HistoryLine& line) { return Cell(show_moment(line.trial.measured_at)); }});
  add_time(sources);
  add_gain(sources);
  sources.push_back(
      {config_column("winner", "winner"), [](const HistoryLine& line) { return Cell(line.trial.config.text()); }});
  add_versions(sources);
  fill(table, sources, lines);
  if (!lines.empty()) {
    table.notes.push_back(
        "Speed-up is the time of the winner before over the row's; equal: it may be 1 by the 95 % intervals of both, "
        "and by what times of different moments differ by.");
  }
  const auto on_cpu = [](const HistoryLine& line) { return line.device == "cpu"; };
  if (std::any_of(lines.begin(), lines.end(), on_cpu)) table.notes.push_back(emulator_note());
  return table;
}

}  // namespace tilewright
