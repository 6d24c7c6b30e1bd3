// SPDX-License-Identifier: Apache-2.0
#include "cache/predict/losses.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace tilewright {
namespace {

/// A winner that fails utterly says little about the distance.
constexpr double kMostLossOfWeights = 0.7;
constexpr double kLeastWeight = 0.002;
constexpr int kFitRounds = 50;
/// The strength of the pull: a variance of paddings without a cost.
constexpr double kPullToNoCost = 1;

/// A way from shape to shape: its doublings in each dim, its loss, and its weight.
struct Way {
  std::vector<double> doublings;
  double loss = 0;
  double share = 0;
};

std::vector<Way> ways_between(const std::vector<ShapeSummary>& known, const std::vector<Losses>& losses) {
  std::vector<Way> ways;
  for (const ShapeSummary& from : known) {
    const auto winner =
        std::ranges::find_if(from.configs, [](const ConfigSummary& each) { return each.role == WinnerRole::best; });
    if (winner == from.configs.end()) continue;
    for (std::size_t to = 0; to < known.size(); ++to) {
      const auto loss = losses[to].find(winner->id);
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

}  // namespace

double doublings(std::int64_t a, std::int64_t b) {
  return std::abs(
      std::log2(static_cast<double>(std::max<std::int64_t>(a, 1)) / static_cast<double>(std::max<std::int64_t>(b, 1))));
}

Losses losses_at(const ShapeSummary& shape) {
  double best = std::numeric_limits<double>::infinity();
  for (const ConfigSummary& each : shape.configs) {
    if (each.was_timed()) best = std::min(best, each.median_ns);
  }
  Losses losses;
  for (const ConfigSummary& each : shape.configs) {
    if (each.was_timed()) losses.emplace(each.id, std::log(each.median_ns / best));
  }
  return losses;
}

std::vector<Losses> losses_of(const std::vector<ShapeSummary>& known) {
  std::vector<Losses> losses;
  for (const ShapeSummary& shape : known) losses.push_back(losses_at(shape));
  return losses;
}

std::vector<double> dim_weights(const std::vector<ShapeSummary>& known, const std::vector<Losses>& losses) {
  if (known.empty()) return {};
  const std::vector<Way> ways = ways_between(known, losses);
  std::vector<double> weights(known.front().dims.size(), kUsualWeight);
  // Coordinate descent: the problem is convex and small.
  for (int round = 0; round < kFitRounds; ++round) {
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

std::vector<Losses> paddings_of(const std::vector<ShapeSummary>& known, const std::vector<Losses>& losses,
                                const LogPadding& padding) {
  std::vector<Losses> paddings(known.size());
  if (!padding) return paddings;
  for (std::size_t at = 0; at < known.size(); ++at) {
    for (const auto& [config, loss] : losses[at]) {
      const double padded = padding(config, known[at].dims);
      if (padded > 0) paddings[at].emplace(config, padded);
    }
  }
  return paddings;
}

double value_at(const Losses& values, const ConfigId& config) {
  const auto found = values.find(config);
  return found == values.end() ? 0 : found->second;
}

double cost_of_padding(const std::vector<Losses>& losses, const std::vector<Losses>& paddings) {
  // For each config, over the shapes where it was timed: sums of paddings, losses, their products and squares.
  struct Sums {
    double count = 0, padding = 0, loss = 0, product = 0, square = 0;
  };
  ByConfig<Sums> sums;
  for (std::size_t at = 0; at < losses.size(); ++at) {
    for (const auto& [config, lost] : losses[at]) {
      const double loss = std::min(kMostLoss, lost);
      const double padding = value_at(paddings[at], config);
      Sums& sum = sums[config];
      sum.count += 1;
      sum.padding += padding;
      sum.loss += loss;
      sum.product += padding * loss;
      sum.square += padding * padding;
    }
  }
  double covariance = 0;
  double variance = kPullToNoCost;
  for (const auto& [config, sum] : sums) {
    covariance += sum.product - sum.padding * sum.loss / sum.count;
    variance += sum.square - sum.padding * sum.padding / sum.count;
  }
  return std::clamp(covariance / variance, 0.0, 1.0);
}

}  // namespace tilewright
