// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/compare_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cache/base/units.hpp"
#include "tuner/report/problem_sources.hpp"
#include "tuner/report/roofline_columns.hpp"
#include "tuner/report/sources.hpp"
#include "tuner/report/winners_table.hpp"

namespace tilewright {
namespace {

using Side = std::optional<SideBest> CompareLine::*;
using CompareSources = std::vector<Source<CompareLine>>;

void add_side(CompareSources& sources, const std::string& letter, const std::string& heading, Side side) {
  const auto time = [&](Column made, double Timing::*member) {
    sources.push_back({std::move(made), [side, member](const CompareLine& line) {
                         return Cell((*(line.*side)->trial.timing).*member);
                       }});
  };
  time(column(letter + "_time_ns", heading, Unit::nanoseconds), &Timing::median_ns);
  sources.push_back({spare_column(letter + "_half_interval_share", "±", Unit::share, Shown::people),
                     [side](const CompareLine& line) { return half_interval_cell((line.*side)->trial); }});
  time(data_column(letter + "_time_low_ns"), &Timing::low_ns);
  time(data_column(letter + "_time_high_ns"), &Timing::high_ns);
}

void add_config(CompareSources& sources, const std::string& letter, const std::string& heading, Side side) {
  Column config = config_column(letter + "_config", heading);
  config.spare = true;
  sources.push_back({config, [side](const CompareLine& line) { return Cell((line.*side)->trial.config.text()); }});
}

void add_versions(CompareSources& sources, const std::string& letter, Side side) {
  sources.push_back(
      {data_column(letter + "_device"), [side](const CompareLine& line) { return Cell((line.*side)->device); }});
  sources.push_back({data_column(letter + "_driver"), [side](const CompareLine& line) {
                       return Cell(std::int64_t{(line.*side)->trial.versions.driver});
                     }});
  sources.push_back({data_column(letter + "_compiler"),
                     [side](const CompareLine& line) { return Cell((line.*side)->trial.versions.compiler); }});
  sources.push_back({data_column(letter + "_tilewright"),
                     [side](const CompareLine& line) { return Cell((line.*side)->trial.versions.tilewright); }});
}

/// The share of the ceiling is for people too, if there is room; all else is for programs.
void add_roofline(CompareSources& sources, const std::string& letter, const std::string& heading, Side side) {
  const auto place = [side](const CompareLine& line) {
    const SideBest& best = *(line.*side);
    return Placed{&best.roofline, &*best.trial.timing};
  };
  for (const auto& placed : {rate_sources(), bound_sources()}) {
    for (const Source<Placed>& source : placed) {
      const Column& from = source.column;
      if (from.shown == Shown::people) continue;
      const bool told = from.name == "share_of_ceiling";
      Column made = told ? spare_column(letter + "_" + from.name, heading + " " + from.heading, from.unit)
                         : data_column(letter + "_" + from.name);
      sources.push_back(
          {std::move(made), [cell = source.cell, place](const CompareLine& line) { return cell(place(line)); }});
    }
  }
}

SpeedUp of(const CompareLine& line) { return speed_up(line.a->trial, line.b->trial); }

void add_speed_up(CompareSources& sources) {
  sources.push_back(
      {column("speedup", "speed-up", Unit::ratio), [](const CompareLine& line) { return Cell(of(line).ratio); }});
  sources.push_back(
      {spare_column("at_least", "at least", Unit::ratio), [](const CompareLine& line) { return Cell(of(line).low); }});
  sources.push_back(
      {spare_column("at_most", "at most", Unit::ratio), [](const CompareLine& line) { return Cell(of(line).high); }});
  sources.push_back({data_column("significant"), [](const CompareLine& line) { return Cell(of(line).significant()); }});
  sources.push_back({column("verdict", "B is"), [](const CompareLine& line) {
                       const SpeedUp ratio = of(line);
                       if (!ratio.significant()) return Cell("equal");
                       return Cell(ratio.ratio > 1 ? "faster" : "slower");
                     }});
  sources.push_back({spare_column("same_config", "same config"),
                     [](const CompareLine& line) { return Cell(line.a->trial.config == line.b->trial.config); }});
}

std::string summary(const std::vector<CompareLine>& both, const std::string& a, const std::string& b) {
  double logs = 0;
  std::size_t faster = 0;
  std::size_t slower = 0;
  for (const CompareLine& line : both) {
    const SpeedUp ratio = of(line);
    logs += std::log(ratio.ratio);
    if (ratio.significant()) ++(ratio.ratio > 1 ? faster : slower);
  }
  return fmt::format(
      "B ({}) against A ({}) over {}: {} on geometric mean; faster in {}, slower in {}, not told apart in {}.", b, a,
      counted(both.size(), "problem"), show_ratio(std::exp(logs / static_cast<double>(both.size()))), faster, slower,
      both.size() - faster - slower);
}

}  // namespace

std::optional<SideBest> best_of(const TriedProblem& problem) {
  const TriedConfig* best = nullptr;
  for (const TriedConfig& tried : problem.configs) {
    if (!timed(tried.trial)) continue;
    if (problem.winner && tried.trial.config == *problem.winner) {
      best = &tried;
      break;
    }
    if (best == nullptr || tried.trial.timing->median_ns < best->trial.timing->median_ns) best = &tried;
  }
  if (best == nullptr) return std::nullopt;
  return SideBest{best->trial, problem.device.fingerprint(), {}, problem.key.interface_hash, best->implementation_hash};
}

Table compare_table(std::string title, const std::string& name_a, const std::string& name_b,
                    const std::vector<CompareLine>& lines) {
  std::vector<CompareLine> both;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(both),
               [](const CompareLine& line) { return line.a && line.b; });
  const auto only_a = static_cast<std::size_t>(
      std::count_if(lines.begin(), lines.end(), [](const CompareLine& line) { return line.a && !line.b; }));
  const auto only_b = static_cast<std::size_t>(
      std::count_if(lines.begin(), lines.end(), [](const CompareLine& line) { return line.b && !line.a; }));

  Table table;
  table.title = std::move(title);
  CompareSources sources;
  add_problem<CompareLine>(sources, both.empty() ? Problem{} : both.front().problem,
                           [](const CompareLine& line) -> const Problem& { return line.problem; });
  add_side(sources, "a", "A", &CompareLine::a);
  add_side(sources, "b", "B", &CompareLine::b);
  add_speed_up(sources);
  add_roofline(sources, "a", "A", &CompareLine::a);
  add_roofline(sources, "b", "B", &CompareLine::b);
  add_config(sources, "a", "config of A", &CompareLine::a);
  add_config(sources, "b", "config of B", &CompareLine::b);
  add_versions(sources, "a", &CompareLine::a);
  add_versions(sources, "b", &CompareLine::b);
  fill(table, sources, both);
  if (!both.empty()) {
    table.notes.push_back(summary(both, name_a, name_b));
    table.notes.push_back(
        "Speed-up is A's time over B's; equal: it may be 1 by the 95 % intervals of both, and by what times of "
        "different moments differ by.");
  }
  if (only_a > 0) table.notes.push_back(fmt::format("{} only A has.", counted(only_a, "problem")));
  if (only_b > 0) table.notes.push_back(fmt::format("{} only B has.", counted(only_b, "problem")));
  const auto on_cpu = [](const CompareLine& line) { return line.a->device == "cpu" || line.b->device == "cpu"; };
  if (std::any_of(both.begin(), both.end(), on_cpu)) table.notes.push_back(emulator_note());
  return table;
}

}  // namespace tilewright
