// SPDX-License-Identifier: Apache-2.0
#include "cache/serve/expectation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "cache/plan/traffic.hpp"
#include "cache/predict/expected_time.hpp"

namespace tilewright {
namespace {

double points_of(const Problem& problem) {
  double points = 1;
  for (const auto& [name, extent] : problem.dims) points *= static_cast<double>(extent);
  return points;
}

double scaled_ns(const Timing& there, const Problem& origin, const Problem& problem) {
  // The floor is the launch's share of the time, whatever the dims.
  const double floor_ns = std::min(there.floor_ns, there.median_ns);
  return floor_ns + (there.median_ns - floor_ns) * points_of(problem) / points_of(origin);
}

struct TimeAround {
  double ns = 0;
  std::string basis;
};

/// The fastest config's time, by the tuned shapes around; nullopt if none has a time.
std::optional<TimeAround> fastest_around(const WinnerSource& source, const WinnerRow& served, const Problem& problem) {
  ProblemKey key{problem, served.interface_hash, served.device.fingerprint()};
  std::vector<TimedShape> around;
  try {
    around = source.times_near(key, served.mode, kTimesAround);
  } catch (const CacheError&) {
    // The config's own time remains.
  }
  if (around.empty()) return std::nullopt;
  const TimedShape& nearest = around.front();
  for (std::size_t i = 0; i < nearest.dims.size(); ++i) key.problem.dims[i].second = nearest.dims[i];
  return TimeAround{expected_time_ns(shape_of(problem), around),
                    fmt::format("the fastest config's time, fitted to {} around, such as {} at {}; ",
                                counted(around.size(), "shape"), show_time(nearest.median_ns), key.problem.key())};
}

std::string basis_of_loss(const PlannedWinner& choice) {
  if (!choice.expected_loss) return "its loss is not known";
  return choice.match.is_learned ? "its loss by the loss model" : "its loss by the shapes around";
}

}  // namespace

std::optional<Expectation> expectation_of(const WinnerSource& source, const PlannedWinner& choice,
                                          const Problem& problem) {
  if (choice.match.fit == Fit::exact) return std::nullopt;
  Expectation expected;
  std::optional<TimeAround> around;
  if (choice.expected_loss) {
    expected.loss = std::max(std::expm1(*choice.expected_loss), 0.0);
    around = fastest_around(source, choice.row, problem);
  }
  const std::optional<Timing>& own = choice.row.winner.trial.timing;
  if (around) {
    expected.time_ns = around->ns * (1 + *expected.loss);
    expected.basis = std::move(around->basis);
  } else if (own) {
    expected.time_ns = scaled_ns(*own, choice.row.problem, problem);
    expected.basis = fmt::format("its time less a launch's, scaled by the product of the dims, from its {} at {}; ",
                                 show_time(own->median_ns), choice.row.problem.key());
  }
  expected.basis += basis_of_loss(choice);
  return expected;
}

std::int64_t bytes_of(const OpInterface& interface, const Problem& problem) {
  const Traffic traffic = traffic_of(interface, problem);
  return traffic.read + traffic.written;
}

}  // namespace tilewright
