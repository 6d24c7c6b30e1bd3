// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/stops.hpp"

#include <utility>

#include "cache/plan/traffic.hpp"
#include "tuner/sweep/ceiling.hpp"

namespace tilewright {

std::vector<Stop> plan_stops(const SweepRequest& request, const OpDefinition* copy) {
  std::vector<Stop> stops;
  std::set<std::string> keys;
  std::set<std::pair<std::int64_t, int>> seen;
  for (const Problem& problem : request.problems) {
    if (!keys.insert(problem.key()).second) continue;
    stops.emplace_back().definition = request.definition;
    stops.back().problem = problem;
    if (!request.ceilings) continue;
    Stop ceiling;
    ceiling.goal = Stop::Goal::ceiling;
    ceiling.definition = copy;
    ceiling.bytes = request.definition->bytes_of(problem);
    ceiling.reads = nearest_reads(traffic_of(request.definition->interface, problem));
    ceiling.of = stops.size() - 1;
    const bool possible = copy != nullptr ? can_read(copy->interface, ceiling.reads) : ceiling.reads == 1;
    if (!possible || ceiling.bytes < 2 || !seen.emplace(ceiling.bytes, ceiling.reads).second) continue;
    if (copy != nullptr) {
      ceiling.problem = copy_problem(copy->interface, problem.spec.dtype, ceiling.bytes, ceiling.reads);
    }
    stops.push_back(std::move(ceiling));
  }
  return stops;
}

std::set<std::string> units_of(const SweepRequest& request) {
  std::set<std::string> units{std::string(kFp32)};
  for (const Problem& problem : request.problems) units.insert(request.definition->unit_of(problem));
  return units;
}

std::optional<Stop> rate_stop(const OpDefinition& op, const std::string& unit) {
  std::optional<Problem> problem = rate_problem(op, unit);
  if (!problem) return std::nullopt;
  Stop stop;
  stop.goal = Stop::Goal::rate;
  stop.definition = &op;
  stop.problem = *std::move(problem);
  stop.unit = unit;
  return stop;
}

}  // namespace tilewright
