// SPDX-License-Identifier: Apache-2.0
#include "cache/serve/expectation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "cache/plan/traffic.hpp"

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

/// The squared distance in natural logarithms.
double distance_of(const ShapeDims& one, const ShapeDims& other) {
  double sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const double steps = std::log(static_cast<double>(std::max<std::int64_t>(one[i], 1)) /
                                  static_cast<double>(std::max<std::int64_t>(other[i], 1)));
    sum += steps * steps;
  }
  return sum;
}

struct TimeAround {
  double ns = 0;
  std::string basis;
};

/// The fastest time: a mean over up to kMost shapes around, weighted by nearness; nullopt if none has a time.
std::optional<TimeAround> fastest_around(const WinnerSource& source, const WinnerRow& served, const Problem& problem) {
  constexpr std::size_t kMost = 4;
  constexpr double kLeastDistance = 1e-3;
  ProblemKey key{problem, served.interface_hash, served.device.fingerprint()};
  const ShapeDims own = shape_of(problem);
  double sum = 0, weights = 0;
  std::size_t count = 0;
  std::string such_as;
  try {
    for (const ShapeDims& shape : source.tuned_near(key, served.mode, kMost)) {
      for (std::size_t i = 0; i < shape.size(); ++i) key.problem.dims[i].second = shape[i];
      const std::optional<WinnerRow> best = source.winner_of(key, served.mode, WinnerRole::best);
      if (!best || !best->winner.trial.timing) continue;
      const Timing& timing = *best->winner.trial.timing;
      const double weight = 1 / (distance_of(shape, own) + kLeastDistance);
      sum += weight * std::log(scaled_ns(timing, key.problem, problem));
      weights += weight;
      if (count++ == 0) such_as = fmt::format("{} at {}", show_time(timing.median_ns), key.problem.key());
    }
  } catch (const CacheError&) {
    // The shapes read before the error are used.
  }
  if (count == 0) return std::nullopt;
  return TimeAround{std::exp(sum / weights),
                    fmt::format("the fastest config's time less a launch's, scaled by the product of the dims, "
                                "from {} around, such as {}; ",
                                counted(count, "shape"), such_as)};
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
