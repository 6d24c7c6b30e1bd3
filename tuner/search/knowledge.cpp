// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/knowledge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "tuner/search/shuffle.hpp"

namespace tilewright {
namespace {

// What an implementation that a shape has no trial of is taken to cost there: a factor of two.
const double kUnknownCost = std::log(2.0);
// What a step in the space is taken to cost where only a likeness of the config is known: five per cent.
const double kCostOfAStep = std::log(1.05);

double log2_of(std::int64_t value) { return std::log2(static_cast<double>(std::max<std::int64_t>(value, 1))); }

double step(std::int64_t a, std::int64_t b) {
  if (a > 0 && b > 0) return std::abs(log2_of(a) - log2_of(b));
  return std::abs(static_cast<double>(a) - static_cast<double>(b));
}

/// log(time / best time) of what is known of one shape, looked up by config or by its nearest likeness.
class Slowness {
 public:
  explicit Slowness(const KnownProblem& known) : known_(known) {
    for (const Trial& trial : known.trials) best_ns_ = std::min(best_ns_, trial.timing->median_ns);
  }

  [[nodiscard]] double of(const Config& config) const {
    double nearest = std::numeric_limits<double>::infinity();
    double slowness = kUnknownCost;
    for (const Trial& trial : known_.trials) {
      const double away = distance(trial.config, config);
      if (away >= nearest) continue;
      nearest = away;
      slowness = std::log(trial.timing->median_ns / best_ns_) + kCostOfAStep * away;
      if (away == 0) break;
    }
    return slowness;
  }

 private:
  const KnownProblem& known_;
  double best_ns_ = std::numeric_limits<double>::infinity();
};

}  // namespace

double distance(const Problem& a, const Problem& b) {
  double sum = 0;
  for (std::size_t i = 0; i < std::min(a.dims.size(), b.dims.size()); ++i) {
    const double apart = log2_of(a.dims[i].second) - log2_of(b.dims[i].second);
    sum += apart * apart;
  }
  return std::sqrt(sum);
}

double distance(const Config& a, const Config& b) {
  if (a.implementation != b.implementation) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const auto& [name, value] : a.values) {
    const auto other = b.find(name);
    sum += other ? step(value, *other) : 1;
  }
  for (const auto& [name, value] : b.values) {
    if (!a.find(name)) sum += 1;
  }
  return sum;
}

Knowledge nearest(Knowledge all, const Problem& problem, std::size_t most) {
  std::erase_if(all, [&](const KnownProblem& known) { return known.problem == problem; });
  std::stable_sort(all.begin(), all.end(), [&](const KnownProblem& a, const KnownProblem& b) {
    return distance(a.problem, problem) < distance(b.problem, problem);
  });
  if (all.size() > most) all.resize(most);
  return all;
}

std::vector<double> predict(const std::vector<Config>& candidates, const Problem& problem, const Knowledge& known) {
  if (known.empty()) return {};
  std::vector<double> expected(candidates.size(), 0);
  double weights = 0;
  for (const KnownProblem& neighbour : known) {
    const double away = distance(neighbour.problem, problem);
    const double weight = 1 / (0.25 + away * away);
    const Slowness slowness(neighbour);
    for (std::size_t i = 0; i < candidates.size(); ++i) expected[i] += weight * slowness.of(candidates[i]);
    weights += weight;
  }
  for (double& each : expected) each /= weights;
  return expected;
}

std::vector<std::size_t> by_merit(const std::vector<Config>& candidates, const Problem& problem, const Knowledge& known,
                                  std::uint64_t seed) {
  std::vector<std::size_t> order = shuffled(candidates.size(), seed);
  const std::vector<double> expected = predict(candidates, problem, known);
  if (!expected.empty()) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return expected[a] < expected[b]; });
  }
  return order;
}

}  // namespace tilewright
