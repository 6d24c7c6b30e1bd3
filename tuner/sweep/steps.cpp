// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/steps.hpp"

#include <utility>

#include "cache/plan/traffic.hpp"
#include "tuner/sweep/ceiling.hpp"

namespace tilewright {

std::vector<Step> plan_steps(const SweepRequest& request, const OpDefinition* copy) {
  std::vector<Step> steps;
  std::set<std::string> keys;
  for (const Problem& problem : request.problems) {
    if (!keys.insert(problem.key()).second) continue;
    steps.emplace_back().definition = request.definition;
    steps.back().problem = problem;
    if (!request.ceilings) continue;
    Step ceiling;
    ceiling.goal = Step::Goal::ceiling;
    ceiling.definition = copy;
    ceiling.bytes = request.definition->bytes_of(problem);
    ceiling.reads = nearest_reads(traffic_of(request.definition->interface, problem));
    ceiling.of = steps.size() - 1;
    const bool possible = copy != nullptr ? can_read(copy->interface, ceiling.reads) : ceiling.reads == 1;
    if (!possible || ceiling.bytes < 2) continue;
    if (copy != nullptr) {
      ceiling.problem = copy_problem(copy->interface, problem.spec.dtype, ceiling.bytes, ceiling.reads);
    }
    steps.push_back(std::move(ceiling));
  }
  return steps;
}

std::set<std::string> units_of(const SweepRequest& request) {
  std::set<std::string> units{std::string(kFp32)};
  for (const Problem& problem : request.problems) units.insert(request.definition->unit_of(problem));
  return units;
}

std::optional<Step> rate_step(const OpDefinition& op, const std::string& unit) {
  std::optional<Problem> problem = rate_problem(op, unit);
  if (!problem) return std::nullopt;
  Step step;
  step.goal = Step::Goal::rate;
  step.definition = &op;
  step.problem = *std::move(problem);
  step.unit = unit;
  return step;
}

}  // namespace tilewright
