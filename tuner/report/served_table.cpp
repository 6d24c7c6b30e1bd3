// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/served_table.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "cache/base/units.hpp"
#include "tuner/report/roofline_columns.hpp"
#include "tuner/report/sources.hpp"
#include "tuner/report/winners_table.hpp"

namespace tilewright {
namespace {

using ServedRow = Store::WinnerRow;

/// A cell that is empty if nothing is served.
std::function<Cell(const ServedLine&)> served(std::function<Cell(const ServedRow&)> cell) {
  return [cell = std::move(cell)](const ServedLine& line) { return line.served.row ? cell(*line.served.row) : Cell(); };
}

/// A cell that is empty unless the winner is of this very problem: a fallback was not chosen among others.
std::function<Cell(const ServedLine&)> exact(std::function<Cell(const ServedRow&)> cell) {
  return [cell = std::move(cell)](const ServedLine& line) {
    return line.served.match.fit == Fit::exact ? cell(*line.served.row) : Cell();
  };
}

/// A cell that is empty if the served config was not timed.
std::function<Cell(const ServedLine&)> timed(std::function<Cell(const ServedRow&)> cell) {
  return served(
      [cell = std::move(cell)](const ServedRow& row) { return row.winner.trial.timing ? cell(row) : Cell(); });
}

/// A cell that is empty if the served config is not a winner chosen among others.
std::function<Cell(const ServedLine&)> chosen(std::function<Cell(const ServedRow&)> cell) {
  return served([cell = std::move(cell)](const ServedRow& row) {
    return row.winner.configs_considered > 0 ? cell(row) : Cell();
  });
}

/// A column of texts that may be broken over lines.
Column breakable_column(const char* name, const char* heading) {
  Column made = column(name, heading);
  made.breakable = true;
  return made;
}

std::vector<Source<ServedLine>> match_sources(const Problem& problem) {
  return {
      {column("shape_key", "problem"), [key = problem.key()](const ServedLine&) { return Cell(key); }},
      {column("match", "match"), [](const ServedLine& line) { return Cell(line.served.match.text()); }},
      {data_column("match_fit"), [](const ServedLine& line) { return Cell(std::string(name(line.served.match.fit))); }},
      {data_column("match_freshness"),
       [](const ServedLine& line) {
         return line.served.row ? Cell(std::string(name(line.served.match.freshness))) : Cell();
       }},
      {data_column("match_device"),
       [](const ServedLine& line) {
         return line.served.row ? Cell(std::string(name(line.served.match.device))) : Cell();
       }},
  };
}

std::vector<Source<ServedLine>> time_sources() {
  return {
      {breakable_column("winner", "winner"),
       served([](const ServedRow& row) { return Cell(row.winner.trial.config.text()); })},
      // What follows is of this problem, which need not be the one asked for.
      {breakable_column("measured_shape_key", "measured on"),
       timed([](const ServedRow& row) { return Cell(row.problem.key()); })},
      {column("time_ns", "time", Unit::nanoseconds),
       served([](const ServedRow& row) { return time_cell(row.winner, &Timing::median_ns); })},
      {people_column("half_interval_share", "±", Unit::share),
       served([](const ServedRow& row) { return half_interval_cell(row.winner.trial); })},
      {data_column("time_low_ns"), served([](const ServedRow& row) { return time_cell(row.winner, &Timing::low_ns); })},
      {data_column("time_high_ns"),
       served([](const ServedRow& row) { return time_cell(row.winner, &Timing::high_ns); })},
  };
}

/// Columns of the problem asked for; empty if it is the measured one.
std::vector<Source<ServedLine>> expected_sources() {
  const auto expected = [](std::function<Cell(const Expectation&)> cell) {
    return [cell = std::move(cell)](const ServedLine& line) { return line.expected ? cell(*line.expected) : Cell(); };
  };
  const auto number = [](const std::optional<double>& value) { return value ? Cell(*value) : Cell(); };
  return {
      {column("own_bytes", "its bytes", Unit::bytes),
       [](const ServedLine& line) { return line.expected ? Cell(line.own_bytes) : Cell(); }},
      {column("expected_ns", "expected time", Unit::nanoseconds),
       expected([number](const Expectation& of) { return number(of.time_ns); })},
      {column("expected_loss", "expected loss", Unit::share),
       expected([number](const Expectation& of) { return number(of.loss); })},
      {breakable_column("expected_by", "expected by"), expected([](const Expectation& of) { return Cell(of.basis); })},
  };
}

Placed place(const ServedLine& line) {
  const auto& row = line.served.row;
  return {&line.roofline, row && row->winner.trial.timing ? &*row->winner.trial.timing : nullptr};
}

std::vector<Source<ServedLine>> evidence_sources() {
  return {
      {column("mode", "mode"), timed([](const ServedRow& row) { return Cell(std::string(name(row.mode))); })},
      {column("speedup_over_base", "vs base", Unit::ratio),
       exact([](const ServedRow& row) { return speedup_cell(row.winner); })},
      {breakable_column("runner_up", "runner-up"),
       exact([](const ServedRow& row) { return runner_up_cell(row.winner); })},
      {column("runner_up_ratio", "its time", Unit::ratio),
       exact([](const ServedRow& row) { return cell_of(row.winner.runner_up_ratio); })},
      {column("configs_considered", "configs"),
       chosen([](const ServedRow& row) { return Cell(std::int64_t{row.winner.configs_considered}); })},
      {column("configs_failed", "of these failed"),
       chosen([](const ServedRow& row) { return Cell(std::int64_t{row.winner.configs_failed}); })},
      {column("finalists_without_rounds", "finalists without rounds"),
       exact([](const ServedRow& row) { return without_rounds_cell(row.winner); })},
      {data_column("measured_at"), timed([](const ServedRow& row) { return Cell(row.winner.trial.measured_at); })},
      {people_column("measured", "measured"),
       timed([](const ServedRow& row) { return Cell(show_moment(row.winner.trial.measured_at)); })},
      {column("device", "device"), [](const ServedLine& line) { return Cell(line.device); }},
      {data_column("winner_device"), served([](const ServedRow& row) { return Cell(row.device.fingerprint()); })},
      {data_column("timed_by"),
       served([](const ServedRow& row) { return Cell(std::string(row.device.is_cpu() ? "emulator" : "gpu")); })},
  };
}

}  // namespace

Table served_table(const Problem& problem, const std::vector<ServedLine>& lines) {
  Table table;
  table.as_records = true;
  std::vector<Source<ServedLine>> sources = match_sources(problem);
  for (Source<ServedLine>& source : expected_sources()) sources.push_back(std::move(source));
  for (Source<ServedLine>& source : time_sources()) sources.push_back(std::move(source));
  add_placed<ServedLine>(sources, rate_sources(), place);
  add_placed<ServedLine>(sources, bound_sources(), place);
  for (Source<ServedLine>& source : evidence_sources()) sources.push_back(std::move(source));
  fill(table, sources, lines);
  const bool emulated = std::any_of(lines.begin(), lines.end(), [](const ServedLine& line) {
    return line.served.row && line.served.row->device.is_cpu();
  });
  if (emulated) table.notes.push_back(emulator_note());
  // A base may be slower than its runner-up.
  const bool is_closely_led = std::ranges::any_of(lines, [](const ServedLine& line) {
    const auto& row = line.served.row;
    return line.served.match.fit == Fit::exact && row && row->winner.role != WinnerRole::base &&
           row->winner.runner_up_ratio && *row->winner.runner_up_ratio < 1;
  });
  if (is_closely_led) {
    table.notes.emplace_back(
        "A runner-up below 1x has the lower median, and cannot be told apart from what is served: of such configs a "
        "fixed rule takes one (`tilewright show` tells which).");
  }
  std::vector<Placed> placed;
  std::transform(lines.begin(), lines.end(), std::back_inserter(placed), place);
  for (std::string& note : roofline_notes(placed)) table.notes.push_back(std::move(note));
  return table;
}

}  // namespace tilewright
