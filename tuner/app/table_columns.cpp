// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/table_columns.hpp"

#include "cache/model/problem.hpp"
#include "tuner/report/compare_table.hpp"
#include "tuner/report/configs_table.hpp"
#include "tuner/report/effect_table.hpp"
#include "tuner/report/history_table.hpp"
#include "tuner/report/winners_table.hpp"

namespace tilewright::app {
namespace {

/// A problem of the op, and a timed config of each implementation with all its parameters: columns depend on these.
struct SampleRows {
  SampleRows(const OpInterface& interface, const std::vector<Implementation>& implementations) {
    problem.spec = parse_spec(interface.op, interface);
    for (const std::string& dim : interface.dims) problem.dims.emplace_back(dim, 1);
    for (const Implementation& implementation : implementations) {
      Trial& trial = trials.emplace_back();
      trial.config.implementation = implementation.recipe.name;
      for (const Parameter& parameter : implementation.space) trial.config.values.emplace_back(parameter.name, 0);
    }
    if (trials.empty()) trials.emplace_back();
    for (Trial& trial : trials) trial.timing.emplace().median_ns = 1;
  }

  Problem problem;
  std::vector<Trial> trials;
};

Table winners_sample(const SampleRows& sample) {
  std::vector<WinnerLine> lines;
  for (const Trial& trial : sample.trials) {
    WinnerLine& line = lines.emplace_back();
    line.row.problem = sample.problem;
    line.row.winner.trial = trial;
  }
  return winners_table("", lines, true);
}

Table configs_sample(const SampleRows& sample) {
  std::vector<ConfigLine> lines;
  for (const Trial& trial : sample.trials) {
    ConfigLine& line = lines.emplace_back();
    line.problem = sample.problem;
    line.trial = trial;
  }
  return configs_table("", lines);
}

Table compare_sample(const SampleRows& sample) {
  std::vector<CompareLine> lines;
  for (const Trial& trial : sample.trials) lines.push_back({sample.problem, SideBest{trial, ""}, SideBest{trial, ""}});
  return compare_table("", "", "", lines);
}

Table history_sample(const SampleRows& sample) {
  std::vector<HistoryLine> lines;
  for (const Trial& trial : sample.trials) lines.push_back({sample.problem, "", true, trial});
  return history_table("", lines);
}

Table sample_of(View view, const SampleRows& sample) {
  switch (view) {
    case View::winners:
      return winners_sample(sample);
    case View::configs:
      return configs_sample(sample);
    case View::effects:
      return effect_table("", {}, "value");
    case View::comparison:
      return compare_sample(sample);
    case View::history:
      return history_sample(sample);
  }
  return {};
}

}  // namespace

std::vector<Column> columns_of(View view, const OpInterface& interface,
                               const std::vector<Implementation>& implementations) {
  return sample_of(view, SampleRows(interface, implementations)).columns;
}

}  // namespace tilewright::app
