// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/stops.hpp"

#include <set>
#include <string>
#include <utility>

#include "cache/traffic.hpp"
#include "tuner/definition/shapes.hpp"
#include "tuner/sweep/ceiling.hpp"

namespace tilewright {

std::vector<Stop> plan_stops(const SweepRequest& request, const OpDefinition* copy, const OpDefinition* fma) {
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
  if (fma != nullptr && !stops.empty()) {
    Stop rate;
    rate.goal = Stop::Goal::rate;
    rate.definition = fma;
    rate.problem = default_shapes(*fma, parse_spec(fma->interface.op, fma->interface), false).front();
    stops.push_back(std::move(rate));
  }
  return stops;
}

}  // namespace tilewright
