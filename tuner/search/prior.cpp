// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/prior.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "cache/predict/nearest.hpp"
#include "tuner/search/shuffle.hpp"

namespace tilewright {
namespace {

// The trials that count per neighbour: the fastest, and others evenly spaced from fast to slow.
constexpr std::size_t kFastest = 32;
constexpr std::size_t kOthers = 224;

// Expectations are smooth: a group of similar configs may go before a winner that has none like it.
constexpr std::size_t kWinnersFirst = 3;

/// A shape's dims, with each difference of its spec from the searched one as a doubled extra dim.
ShapeDims dims_of(const Problem& problem, const Problem& searched) {
  ShapeDims dims = shape_of(problem);
  const auto add = [&](bool same) { dims.push_back(same ? 1 : 2); };
  add(problem.spec.dtype == searched.spec.dtype);
  for (std::size_t i = 0; i < searched.spec.attributes.size(); ++i) {
    add(i < problem.spec.attributes.size() && problem.spec.attributes[i] == searched.spec.attributes[i]);
  }
  return dims;
}

/// Identified by implementation names, because trials of an older source inform about the newer one.
ShapeSummary summary_of(const Neighbour& known, const Problem& searched) {
  ShapeSummary summary{dims_of(known.problem, searched), {}};
  for (const Trial* trial : telling(known, kFastest, kOthers)) {
    ConfigSummary& config = summary.configs.emplace_back();
    config.id = {trial->config.implementation, trial->config};
    config.median_ns = trial->timing->median_ns;
    if (known.winner == trial->config) config.role = WinnerRole::best;
  }
  return summary;
}

/// The candidate nearest to `config`.
std::optional<std::size_t> likeness(const std::vector<Config>& candidates, const Config& config) {
  std::optional<std::size_t> nearest;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double away = distance(candidates[i], config);
    if (away >= least) continue;
    least = away;
    nearest = i;
  }
  return nearest;
}

}  // namespace

std::vector<double> expected_losses(const SearchSpace& space) {
  std::vector<double> losses(space.candidates.size(), 0);
  if (space.known.empty()) return losses;
  std::vector<ShapeSummary> known;
  for (const Neighbour& each : space.known) known.push_back(summary_of(each, space.problem));
  const NearestPredictor expectation(known, dims_of(space.problem, space.problem));
  std::ranges::transform(space.candidates, losses.begin(), [&](const Config& config) {
    return expectation.loss({config.implementation, config});
  });
  return losses;
}

std::vector<std::size_t> winners_around(const SearchSpace& space, std::size_t most) {
  std::vector<const Neighbour*> nearest;
  for (const Neighbour& known : space.known) {
    if (known.winner) nearest.push_back(&known);
  }
  std::ranges::stable_sort(nearest, {}, [&](const auto* known) { return distance(known->problem, space.problem); });
  // Another dtype or attribute changes less than other dims do. The problem itself may be known, of an older source.
  const auto first =
      std::ranges::find_if_not(nearest, [&](const auto* known) { return known->problem == space.problem; });
  const auto same =
      std::find_if(first, nearest.end(), [&](const auto* known) { return known->problem.dims == space.problem.dims; });
  if (same != nearest.end()) std::rotate(first, same, same + 1);
  std::vector<std::size_t> found;
  for (const Neighbour* known : nearest) {
    if (found.size() == most) break;
    const auto place = likeness(space.candidates, *known->winner);
    if (place && std::ranges::find(found, *place) == found.end()) found.push_back(*place);
  }
  return found;
}

std::vector<std::size_t> by_merit(const SearchSpace& space) {
  std::vector<std::size_t> order = shuffled(space.candidates.size(), space.seed);
  if (!space.known.empty()) {
    const std::vector<double> expected = expected_losses(space);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return expected[i]; });
    const std::vector<std::size_t> first = winners_around(space, kWinnersFirst);
    for (auto winner = first.rbegin(); winner != first.rend(); ++winner) {
      const auto place = std::ranges::find(order, *winner);
      std::rotate(order.begin(), place, place + 1);
    }
    return order;
  }
  // The n-th of each implementation precedes the n+1-th of any.
  std::map<std::string, std::size_t> count;
  std::vector<std::pair<std::size_t, std::size_t>> turns;
  for (const std::size_t i : order) turns.emplace_back(count[space.candidates[i].implementation]++, i);
  std::ranges::stable_sort(turns, {}, &std::pair<std::size_t, std::size_t>::first);
  std::ranges::transform(turns, order.begin(), &std::pair<std::size_t, std::size_t>::second);
  return order;
}

}  // namespace tilewright
