// SPDX-License-Identifier: Apache-2.0
#include "cache/nearest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace tilewright {
namespace {

/// What a config costs where it was never timed: it was not legal there, or nobody thought it worth a look.
const double kUnknownLoss = std::log(2.0);
/// Beyond this, worse is no worse.
const double kMostLoss = std::log(16.0);
/// For weights: a winner that fails utterly says little of the way there.
constexpr double kMostLossOfWeights = 0.7;
constexpr double kUsualWeight = 0.05;
constexpr double kLeastWeight = 0.002;
constexpr int kRounds = 50;
/// The loss within which all shapes are equally near.
constexpr double kNear = 0.02;

/// A config, by what it is.
using Identity = std::pair<std::string, std::string>;

Identity identity(const KnownConfig& known) { return {known.implementation_hash, known.config.text()}; }

double doublings(std::int64_t a, std::int64_t b) {
  return std::abs(
      std::log2(static_cast<double>(std::max<std::int64_t>(a, 1)) / static_cast<double>(std::max<std::int64_t>(b, 1))));
}

/// By how much each config that is known at a shape is slower than the fastest of them.
using Losses = std::map<Identity, double>;

Losses losses_at(const KnownShape& shape) {
  double best = std::numeric_limits<double>::infinity();
  for (const KnownConfig& each : shape.configs) best = std::min(best, each.median_ns);
  Losses losses;
  for (const KnownConfig& each : shape.configs) {
    if (best > 0) losses.emplace(identity(each), std::log(each.median_ns / best));
  }
  return losses;
}

std::vector<Losses> losses_of(const std::vector<KnownShape>& known) {
  std::vector<Losses> losses;
  for (const KnownShape& shape : known) losses.push_back(losses_at(shape));
  return losses;
}

/// One way from shape to shape: how far in each dim, what it cost, how much it counts.
struct Way {
  std::vector<double> doublings;
  double loss = 0;
  double share = 0;
};

std::vector<Way> ways_between(const std::vector<KnownShape>& known, const std::vector<Losses>& losses) {
  std::vector<Way> ways;
  for (const KnownShape& from : known) {
    const auto winner =
        std::ranges::find_if(from.configs, [](const KnownConfig& each) { return each.role == WinnerRole::best; });
    if (winner == from.configs.end()) continue;
    for (std::size_t to = 0; to < known.size(); ++to) {
      const auto loss = losses[to].find(identity(*winner));
      if (&known[to] == &from || loss == losses[to].end()) continue;
      Way way{{}, std::min(kMostLossOfWeights, loss->second), 1};
      for (std::size_t d = 0; d < from.dims.size(); ++d) {
        way.doublings.push_back(doublings(from.dims[d], known[to].dims[d]));
        way.share += way.doublings.back();
      }
      way.share = 1 / way.share;
      ways.push_back(std::move(way));
    }
  }
  return ways;
}

std::vector<double> weights_from(const std::vector<KnownShape>& known, const std::vector<Losses>& losses) {
  if (known.empty()) return {};
  const std::vector<Way> ways = ways_between(known, losses);
  std::vector<double> weights(known.front().dims.size(), kUsualWeight);
  // Coordinate by coordinate: the problem is convex and small.
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t d = 0; d < weights.size(); ++d) {
      double numerator = kUsualWeight;
      double denominator = 1;
      for (const Way& way : ways) {
        double rest = way.loss;
        for (std::size_t e = 0; e < weights.size(); ++e) {
          if (e != d) rest -= weights[e] * way.doublings[e];
        }
        numerator += way.share * way.doublings[d] * rest;
        denominator += way.share * way.doublings[d] * way.doublings[d];
      }
      weights[d] = std::max(kLeastWeight, numerator / denominator);
    }
  }
  return weights;
}

double distance(const std::vector<double>& weights, std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  double sum = 0;
  for (std::size_t d = 0; d < weights.size(); ++d) sum += weights[d] * doublings(a[d], b[d]);
  return sum;
}

}  // namespace

std::vector<ShapeDims> nearest_shapes(std::vector<ShapeDims> shapes, std::span<const std::int64_t> shape,
                                      std::size_t most) {
  const std::vector<double> even(shape.size(), 1);
  std::erase_if(shapes, [&](const ShapeDims& other) { return other.size() != shape.size(); });
  std::ranges::stable_sort(shapes, {}, [&](const ShapeDims& other) { return distance(even, other, shape); });
  if (shapes.size() > most) shapes.resize(most);
  return shapes;
}

std::vector<double> dim_weights(const std::vector<KnownShape>& known) { return weights_from(known, losses_of(known)); }

std::vector<NearConfig> rank_nearest(const std::vector<KnownShape>& known, std::span<const std::int64_t> shape,
                                     const Usable& usable) {
  const std::vector<Losses> losses = losses_of(known);
  const std::vector<double> weights = weights_from(known, losses);
  std::vector<double> nearness;
  double all = 0;
  for (const KnownShape& each : known) {
    nearness.push_back(std::pow(kNear + distance(weights, each.dims, shape), -2));
    all += nearness.back();
  }

  std::vector<NearConfig> ranked;
  std::vector<double> nearness_of_origin;
  std::map<Identity, std::size_t> places;
  for (std::size_t at = 0; at < known.size(); ++at) {
    for (const KnownConfig& each : known[at].configs) {
      if (!each.role || each.role == WinnerRole::base || !usable(each, known[at].dims)) continue;
      const Identity config = identity(each);
      const auto [place, is_new] = places.emplace(config, ranked.size());
      NearConfig origin{known[at].dims, *each.role, each.implementation_hash, each.config, 0};
      if (is_new) {
        for (std::size_t i = 0; i < known.size(); ++i) {
          const auto loss = losses[i].find(config);
          origin.expected_loss +=
              nearness[i] / all * (loss == losses[i].end() ? kUnknownLoss : std::min(kMostLoss, loss->second));
        }
        ranked.push_back(std::move(origin));
        nearness_of_origin.push_back(nearness[at]);
      } else if (nearness[at] > nearness_of_origin[place->second]) {
        origin.expected_loss = ranked[place->second].expected_loss;
        ranked[place->second] = std::move(origin);
        nearness_of_origin[place->second] = nearness[at];
      }
    }
  }
  // Equal expectations stay in the order of the shapes.
  std::ranges::stable_sort(ranked, {}, &NearConfig::expected_loss);
  return ranked;
}

}  // namespace tilewright
