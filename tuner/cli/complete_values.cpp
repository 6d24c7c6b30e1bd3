// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/complete_values.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/base/holds.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/report/compare_table.hpp"
#include "tuner/report/configs_table.hpp"
#include "tuner/report/effect_table.hpp"
#include "tuner/report/table_query.hpp"
#include "tuner/report/winners_table.hpp"

namespace tilewright::cli {
namespace {

/// One problem of the op, and a timed config of each implementation with all of its parameters: what columns depend on.
struct Sample {
  explicit Sample(const OpDefinition& definition) {
    problem.spec = parse_spec(definition.interface.op, definition.interface);
    for (const std::string& dim : definition.interface.dims) problem.dims.emplace_back(dim, 1);
    for (const Implementation& implementation : definition.implementations) {
      Trial& trial = trials.emplace_back();
      trial.config.implementation = implementation.recipe.name;
      for (const Parameter& parameter : implementation.space) trial.config.values.emplace_back(parameter.name, 0);
      trial.timing.emplace().median_ns = 1;
    }
  }

  Problem problem;
  std::vector<Trial> trials;
};

Table winners_sample(const Sample& sample) {
  std::vector<WinnerLine> lines;
  for (const Trial& trial : sample.trials) {
    WinnerLine& line = lines.emplace_back();
    line.row.problem = sample.problem;
    line.row.winner.trial = trial;
  }
  return winners_table("", lines, true);
}

Table configs_sample(const Sample& sample) {
  std::vector<ConfigLine> lines;
  for (const Trial& trial : sample.trials) {
    ConfigLine& line = lines.emplace_back();
    line.problem = sample.problem;
    line.trial = trial;
  }
  return configs_table("", lines);
}

Table compare_sample(const Sample& sample) {
  std::vector<CompareLine> lines;
  for (const Trial& trial : sample.trials) lines.push_back({sample.problem, SideBest{trial, ""}, SideBest{trial, ""}});
  return compare_table("", "", "", lines);
}

}  // namespace

std::vector<std::string> parameters_of(const OpDefinition& definition) {
  std::vector<std::string> names{"implementation"};
  for (const Implementation& implementation : definition.implementations) {
    for (const Parameter& parameter : implementation.space) {
      if (!holds(names, parameter.name)) names.push_back(parameter.name);
    }
  }
  return names;
}

std::vector<std::string> table_columns(const OpDefinition& definition, TableView view) {
  const Sample sample(definition);
  switch (view) {
    case TableView::winners:
      return column_names(winners_sample(sample));
    case TableView::all:
      return column_names(configs_sample(sample));
    case TableView::by:
      return column_names(effect_table("", {}, "value"));
    case TableView::compare:
      return column_names(compare_sample(sample));
  }
  return {};
}

std::vector<std::string> configs_of(const Store& store, const std::string& op) {
  std::vector<std::string> configs;
  for (const WinnerRow& row : store.list_winners({.op = op})) configs.push_back(row.winner.trial.config.text());
  std::sort(configs.begin(), configs.end());
  configs.erase(std::unique(configs.begin(), configs.end()), configs.end());
  return configs;
}

std::vector<std::string> config_steps(const OpDefinition& definition, const std::string& typed) {
  std::vector<std::string> steps;
  const std::size_t open = typed.find('{');
  const std::string name = typed.substr(0, open);
  for (const Implementation& implementation : definition.implementations) {
    if (open == std::string::npos) {
      steps.push_back(implementation.recipe.name + (implementation.space.empty() ? "" : "{"));
      continue;
    }
    if (implementation.recipe.name != name) continue;
    const std::size_t last = typed.find_last_of("{,");
    const std::string before = typed.substr(0, last + 1);
    const std::string part = typed.substr(last + 1);
    std::vector<std::string> given;
    for (const std::string& each : app::split_list(before.substr(open + 1)))
      given.push_back(each.substr(0, each.find('=')));
    for (const Parameter& parameter : implementation.space) {
      if (holds(given, parameter.name)) continue;
      if (part.find('=') == std::string::npos) {
        steps.push_back(fmt::format("{}{}=", before, parameter.name));
      } else if (part.substr(0, part.find('=')) == parameter.name) {
        // All parameters have to be there: the last is followed by the end.
        const auto there = static_cast<std::size_t>(std::count(typed.begin(), typed.end(), '='));
        const char* const after = there == implementation.space.size() ? "}" : ",";
        for (const std::int64_t value : parameter.values) {
          steps.push_back(fmt::format("{}{}={}{}", before, parameter.name, value, after));
        }
      }
    }
  }
  return steps;
}

}  // namespace tilewright::cli
