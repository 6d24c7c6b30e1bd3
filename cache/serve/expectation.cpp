// SPDX-License-Identifier: Apache-2.0
#include "cache/serve/expectation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cache/base/units.hpp"
#include "cache/plan/traffic.hpp"

namespace tilewright {
namespace {

double points_of(const Problem& problem) {
  double points = 1;
  for (const auto& [name, extent] : problem.dims) points *= static_cast<double>(extent);
  return points;
}

std::string basis_of_loss(const PlannedWinner& choice) {
  if (!choice.expected_loss) return "its loss is not known";
  return choice.match.is_learned ? "its loss by what was learned of trials" : "its loss by the shapes around";
}

}  // namespace

std::optional<Expectation> expectation_of(const PlannedWinner& choice, const Problem& problem) {
  if (choice.match.fit == Fit::exact) return std::nullopt;
  Expectation expected;
  if (choice.expected_loss) expected.loss = std::expm1(*choice.expected_loss);
  const Problem& origin = choice.row.problem;
  const std::optional<Timing>& own = choice.row.winner.trial.timing;
  if (const std::optional<Timing>& there = own ? own : choice.best_there) {
    // The floor is the launch's share of the time, whatever the dims.
    const double floor_ns = std::min(there->floor_ns, there->median_ns);
    const double working_ns = (there->median_ns - floor_ns) * points_of(problem) / points_of(origin);
    expected.time_ns = (floor_ns + working_ns) * (own ? 1 : 1 + expected.loss.value_or(0));
    expected.basis = fmt::format("its time above a launch's by the product of the dims, from {} {} at {}; ",
                                 own ? "its" : "the best's", show_time(there->median_ns), origin.key());
  }
  expected.basis += basis_of_loss(choice);
  return expected;
}

std::int64_t bytes_of(const OpInterface& interface, const Problem& problem) {
  const Traffic traffic = traffic_of(interface, problem);
  return traffic.read + traffic.written;
}

}  // namespace tilewright
