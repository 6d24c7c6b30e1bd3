// SPDX-License-Identifier: Apache-2.0
#include "cache/predict/nearest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "cache/predict/losses.hpp"

namespace tilewright {
namespace {

/// The expected loss if nothing is known.
const double kUnknownLoss = std::log(2.0);
/// One step of distance along the axes of configs.
constexpr double kConfigStep = 0.5;
/// The weight of the expectation without knowledge; a config's own time at the nearest shape weighs 1. So a config
/// unlike all others is not trusted.
constexpr double kDoubt = 0.03;
/// The number of shapes left out in turn, to see how good predictions are.
constexpr std::size_t kLeftOut = 6;
/// Squared distance beyond the nearest shape's from which a weight is negligible: exp(-½ · 40).
constexpr double kNegligible = 40;

/// The doublings of each dim that are one step of distance: one if a doubling costs the usual, more if it costs less.
std::vector<double> steps_of(const std::vector<double>& weights) {
  std::vector<double> steps;
  for (const double weight : weights) steps.push_back(std::clamp(std::pow(kUsualWeight / weight, 1.0 / 6), 1.0, 2.0));
  return steps;
}

}  // namespace

std::vector<ShapeDims> nearest_of(const FlatShapes& shapes, std::span<const std::int64_t> shape, std::size_t most) {
  if (shapes.dims != shape.size()) return {};
  // The product of the ratios grows with the sum of their logarithms.
  std::vector<std::pair<double, std::size_t>> ranked(shapes.count());
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    double ratio = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const auto own = static_cast<double>(std::max<std::int64_t>(shape[d], 1));
      const auto other = static_cast<double>(std::max<std::int64_t>(shapes.lengths[i * shapes.dims + d], 1));
      ratio *= std::max(own, other) / std::min(own, other);
    }
    ranked[i] = {ratio, i};
  }
  const std::size_t kept = std::min(most, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(kept), ranked.end());
  std::vector<ShapeDims> nearest;
  for (std::size_t i = 0; i < kept; ++i) {
    const std::int64_t* first = shapes.lengths.data() + ranked[i].second * shapes.dims;
    nearest.emplace_back(first, first + shapes.dims);
  }
  return nearest;
}

std::vector<ShapeDims> nearest_shapes(const std::vector<ShapeDims>& shapes, std::span<const std::int64_t> shape,
                                      std::size_t most) {
  FlatShapes flat{shape.size()};
  for (const ShapeDims& each : shapes) {
    if (each.size() == shape.size()) flat.lengths.insert(flat.lengths.end(), each.begin(), each.end());
  }
  return nearest_of(flat, shape, most);
}

double NearestPredictor::distance_to(std::span<const std::int64_t> dims) const {
  double sum = 0;
  for (std::size_t d = 0; d < steps_.size(); ++d) {
    const double steps = doublings(dims[d], shape_[d]) / steps_[d];
    sum += steps * steps;
  }
  return sum;
}

NearestPredictor::NearestPredictor(const std::vector<ShapeSummary>& known, std::span<const std::int64_t> shape,
                                   LogPadding padding)
    : shape_(shape.begin(), shape.end()), padding_(std::move(padding)) {
  const std::vector<Losses> losses = losses_of(known);
  const std::vector<Losses> paddings = paddings_of(known, losses, padding_);
  cost_of_padding_ = padding_ ? cost_of_padding(losses, paddings) : 0;
  steps_ = steps_of(dim_weights(known, losses));
  for (const ShapeSummary& each : known) {
    for (const ConfigSummary& config : each.configs) axes_.add(config.id.implementation_hash, config.id.config);
  }
  double nearest = std::numeric_limits<double>::infinity();
  for (std::size_t at = 0; at < known.size(); ++at) {
    if (!losses[at].empty()) nearest = std::min(nearest, distance_to(known[at].dims));
  }
  ByConfig<std::size_t> places;
  for (std::size_t at = 0; at < known.size(); ++at) {
    const double away = distance_to(known[at].dims) - nearest;
    if (away >= kNegligible) continue;
    const double weight = std::exp(-away / 2);
    for (const auto& [config, loss] : losses[at]) {
      const auto [place, is_new] = places.try_emplace(config, points_.size());
      if (is_new) points_.push_back({axes_.place_of(config.get().implementation_hash, config.get().config)});
      Point& point = points_[place->second];
      point.weight += weight;
      point.lost += weight * (std::min(kMostLoss, loss) - cost_of_padding_ * value_at(paddings[at], config));
    }
  }
}

std::vector<std::optional<double>> NearestPredictor::losses(std::span<const ConfigId* const> configs) const {
  std::vector<std::optional<double>> expected;
  for (const ConfigId* config : configs) expected.emplace_back(loss(*config));
  return expected;
}

double NearestPredictor::loss(const ConfigId& config) const {
  const std::vector<float> place = axes_.place_of(config.implementation_hash, config.config);
  double all = kDoubt;
  double lost = kDoubt * kUnknownLoss;
  for (const Point& point : points_) {
    double sum = 0;
    for (std::size_t i = 0; i < place.size() && sum < kNegligible; ++i) {
      const double away = static_cast<double>(place[i] - point.place[i]) / kConfigStep;
      sum += away * away;
    }
    if (sum >= kNegligible) continue;
    const double weight = std::exp(-sum / 2);
    all += weight * point.weight;
    lost += weight * point.lost;
  }
  const double padding = cost_of_padding_ > 0 ? padding_(config, shape_) : 0;
  return lost / all + cost_of_padding_ * padding;
}

double untimed_risk(const std::vector<ShapeSummary>& known, const LogPadding& padding) {
  double sum = 0;
  int count = 0;
  for (std::size_t left_out = 0; left_out < std::min(known.size(), kLeftOut); ++left_out) {
    const ShapeSummary& at = known[left_out];
    std::vector<ShapeSummary> rest = known;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(left_out));
    ByConfig<bool> timed;
    for (const ShapeSummary& shape : rest) {
      for (const ConfigSummary& each : shape.configs) {
        if (each.was_timed()) timed.emplace(each.id, true);
      }
    }
    const NearestPredictor expectation(rest, at.dims, padding);
    const Losses losses = losses_at(at);
    // For configs not timed elsewhere (0) and timed elsewhere (1): the promise and the loss of the most promising.
    struct Pick {
      double promised = std::numeric_limits<double>::infinity();
      double lost = 0;
    };
    Pick picks[2];
    for (const ConfigSummary& each : at.configs) {
      const auto lost = losses.find(each.id);
      if (lost == losses.end() || each.role == WinnerRole::base) continue;
      Pick& pick = picks[timed.contains(lost->first) ? 1 : 0];
      const double promised = expectation.loss(each.id);
      if (promised < pick.promised) pick = {promised, std::min(kMostLoss, lost->second)};
    }
    if (!std::isfinite(picks[0].promised) || !std::isfinite(picks[1].promised)) continue;
    sum += (picks[0].lost - picks[0].promised) - (picks[1].lost - picks[1].promised);
    ++count;
  }
  return count == 0 ? kLeastRisk : std::max(kLeastRisk, sum / count);
}

std::vector<NearConfig> rank_nearest(const std::vector<ShapeSummary>& known, std::span<const std::int64_t> shape,
                                     const Usable& usable, const std::vector<ConfigSummary>& untimed, double risk,
                                     const LogPadding& padding) {
  const NearestPredictor expectation(known, shape, padding);
  std::vector<NearConfig> ranked;
  std::vector<double> distances;
  std::vector<bool> timed;
  ByConfig<std::size_t> places;
  // Left out: bases, and untimed configs that failed at a shape around.
  ByConfig<bool> bases, failed;
  for (const ShapeSummary& at : known) {
    const double away = expectation.distance_to(at.dims);
    for (const ConfigSummary& each : at.configs) {
      if (each.role == WinnerRole::base) bases.emplace(each.id, true);
      if (each.has_failed) failed.emplace(each.id, true);
      if (each.has_failed || each.role == WinnerRole::base || !usable(each, at.dims)) continue;
      const auto [place, is_new] = places.emplace(each.id, ranked.size());
      NearConfig origin{at.dims, each.role, each.id, each.role || each.has_binary};
      if (is_new) {
        origin.expected_loss = expectation.loss(each.id);
        ranked.push_back(std::move(origin));
        distances.push_back(away);
        timed.push_back(each.was_timed());
        continue;
      }
      if (each.was_timed()) timed[place->second] = true;
      NearConfig& ranked_before = ranked[place->second];
      double& away_before = distances[place->second];
      // A binary counts for more than nearness.
      if (std::pair(!origin.has_binary, away) >= std::pair(!ranked_before.has_binary, away_before)) continue;
      origin.expected_loss = ranked_before.expected_loss;
      ranked_before = std::move(origin);
      away_before = away;
    }
  }
  for (std::size_t i = 0; i < ranked.size(); ++i) ranked[i].expected_loss += timed[i] ? 0 : risk;
  for (const auto& [config, place] : places) {
    if (!timed[place] && failed.contains(config)) ranked[place].expected_loss = std::numeric_limits<double>::infinity();
  }
  std::erase_if(ranked, [](const NearConfig& each) { return std::isinf(each.expected_loss); });
  for (const ConfigSummary& each : untimed) {
    const ConfigId& config = each.id;
    if (known.empty() || bases.contains(config) || failed.contains(config) ||
        !places.emplace(config, ranked.size()).second)
      continue;
    ranked.push_back({known.front().dims, std::nullopt, each.id, false, false, risk + expectation.loss(each.id)});
  }
  // Equal expectations stay in the order of the shapes.
  std::ranges::stable_sort(ranked, {}, &NearConfig::expected_loss);
  return ranked;
}

}  // namespace tilewright
