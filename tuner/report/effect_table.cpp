// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/effect_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <map>
#include <optional>
#include <utility>

#include "tuner/analysis/intervals.hpp"
#include "tuner/report/sources.hpp"
#include "tuner/report/winners_table.hpp"

namespace tilewright {
namespace {

constexpr const char* kImplementation = "implementation";

/// Numbers before texts, each in their order.
using ParameterValue = std::variant<std::int64_t, std::string>;

/// One name in two implementations is two knobs.
struct Knob {
  std::string implementation;
  ParameterValue value;
  auto operator<=>(const Knob&) const = default;
};

std::optional<Knob> knob_of(const Config& config, const std::string& parameter) {
  if (parameter == kImplementation) return Knob{"", config.implementation};
  const auto number = config.find(parameter);
  if (!number) return std::nullopt;
  return Knob{config.implementation, *number};
}

struct Effect {
  Knob knob;
  std::int64_t configs = 0;
  std::int64_t failed = 0;
  std::int64_t problems = 0;
  /// The problems whose best config of all has the value.
  std::int64_t best_in = 0;
  double log_best = 0;
  double log_median = 0;
  double worst_best = 0;
};

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Adds the times of one problem by value, relative to the best of all.
void count(const TriedProblem& problem, const std::string& parameter, std::map<Knob, Effect>& effects) {
  std::map<Knob, std::vector<double>> times;
  double best = 0;
  for (const TriedConfig& tried : problem.configs) {
    const bool is_timed = timed(tried.trial);
    if (is_timed) best = best > 0 ? std::min(best, tried.trial.timing->median_ns) : tried.trial.timing->median_ns;
    const auto knob = knob_of(tried.trial.config, parameter);
    if (!knob) continue;
    Effect& effect = effects[*knob];
    if (is_timed) ++effect.configs;
    if (is_failure(tried.trial.status)) ++effect.failed;
    if (is_timed) times[*knob].push_back(tried.trial.timing->median_ns);
  }
  for (auto& [knob, own] : times) {
    Effect& effect = effects[knob];
    const double least = *std::min_element(own.begin(), own.end());
    ++effect.problems;
    if (least <= best) ++effect.best_in;
    effect.log_best += std::log(least / best);
    effect.log_median += std::log(median_of(own) / best);
    effect.worst_best = std::max(effect.worst_best, least / best);
  }
}

Cell mean_cell(double logs, std::int64_t problems) {
  return problems > 0 ? Cell(std::exp(logs / static_cast<double>(problems))) : Cell();
}

}  // namespace

std::vector<std::string> parameters_of(const std::vector<TriedProblem>& problems) {
  std::vector<std::string> names{kImplementation};
  for (const TriedProblem& problem : problems) {
    for (const TriedConfig& tried : problem.configs) {
      for (const auto& pair : tried.trial.config.values) {
        if (std::find(names.begin(), names.end(), pair.first) == names.end()) names.push_back(pair.first);
      }
    }
  }
  return names;
}

Table effect_table(std::string title, const std::vector<TriedProblem>& problems, const std::string& parameter) {
  std::map<Knob, Effect> effects;
  for (const TriedProblem& problem : problems) count(problem, parameter, effects);
  std::vector<Effect> lines;
  for (auto& [knob, effect] : effects) {
    effect.knob = knob;
    lines.push_back(effect);
  }
  std::vector<Source<Effect>> sources{
      {column("value", parameter),
       [](const Effect& effect) {
         return std::visit([](const auto& value) { return Cell(value); }, effect.knob.value);
       }},
      {column("best_ratio", "best", Unit::ratio),
       [](const Effect& effect) { return mean_cell(effect.log_best, effect.problems); }},
      {spare_column("worst_best_ratio", "best at worst", Unit::ratio),
       [](const Effect& effect) { return effect.problems > 0 ? Cell(effect.worst_best) : Cell(); }},
      {column("median_ratio", "median", Unit::ratio),
       [](const Effect& effect) { return mean_cell(effect.log_median, effect.problems); }},
      {column("best_in", "wins"), [](const Effect& effect) { return Cell(effect.best_in); }},
      {column("problems", "problems"), [](const Effect& effect) { return Cell(effect.problems); }},
      {column("configs", "configs"), [](const Effect& effect) { return Cell(effect.configs); }},
      {column("failed", "failed"), [](const Effect& effect) { return Cell(effect.failed); }}};
  if (parameter != kImplementation) {
    sources.insert(sources.begin(), {common_column("implementation", "implementation"),
                                     [](const Effect& effect) { return Cell(effect.knob.implementation); }});
  }
  Table table;
  table.title = std::move(title);
  fill(table, sources, lines);
  table.notes.push_back(
      "Times over that of the best config of the problem, 1x being the best: of the best config with the value, and of "
      "the median one. Geometric means over the problems where a config with the value was timed; what a search left "
      "untried is not in them.");
  const bool on_cpu = std::any_of(problems.begin(), problems.end(),
                                  [](const TriedProblem& problem) { return problem.device.is_cpu(); });
  if (on_cpu) table.notes.push_back(emulator_note());
  return table;
}

}  // namespace tilewright
