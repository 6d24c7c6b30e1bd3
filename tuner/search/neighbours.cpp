// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/neighbours.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "tuner/search/leaders.hpp"
#include "tuner/search/shuffle.hpp"

namespace tilewright {
namespace {

// What an implementation that a shape has no trial of is taken to cost there: a factor of two.
const double kUnknownCost = std::log(2.0);
// What a step in the space is taken to cost where only a likeness of the config is known: five per cent.
const double kCostOfAStep = std::log(1.05);
// Within half a doubling all shapes are equally near.
constexpr double kNearest = 0.25;
double log2_of(std::int64_t value) { return std::log2(static_cast<double>(std::max<std::int64_t>(value, 1))); }

double step(std::int64_t a, std::int64_t b) {
  if (a > 0 && b > 0) return std::abs(log2_of(a) - log2_of(b));
  return std::abs(static_cast<double>(a) - static_cast<double>(b));
}

/// log(time / best time) of what is known of one shape, looked up by config or by its nearest likeness.
class Slowness {
 public:
  explicit Slowness(const Neighbour& known) : known_(known) {
    for (const Trial& trial : known.trials) {
      best_ns_ = std::min(best_ns_, trial.timing->median_ns);
      by_text_.emplace(trial.config.text(), &trial);
    }
  }

  [[nodiscard]] double of(const Config& config) const {
    if (const auto same = by_text_.find(config.text()); same != by_text_.end()) return log_ratio(*same->second);
    double nearest = std::numeric_limits<double>::infinity();
    double slowness = kUnknownCost;
    for (const Trial& trial : known_.trials) {
      const double away = distance(trial.config, config);
      if (away >= nearest) continue;
      nearest = away;
      slowness = log_ratio(trial) + kCostOfAStep * away;
    }
    return slowness;
  }

 private:
  [[nodiscard]] double log_ratio(const Trial& trial) const { return std::log(trial.timing->median_ns / best_ns_); }

  const Neighbour& known_;
  std::unordered_map<std::string, const Trial*> by_text_;
  double best_ns_ = std::numeric_limits<double>::infinity();
};

}  // namespace

double distance(const Problem& a, const Problem& b) {
  double sum = a.spec.dtype == b.spec.dtype ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.spec.attributes.size(), b.spec.attributes.size()); ++i) {
    sum += a.spec.attributes[i] == b.spec.attributes[i] ? 0 : 1;
  }
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

Neighbours nearest(Neighbours all, const Problem& problem, std::size_t most) {
  std::erase_if(all, [&](const Neighbour& known) { return known.problem == problem; });
  std::stable_sort(all.begin(), all.end(), [&](const Neighbour& a, const Neighbour& b) {
    return distance(a.problem, problem) < distance(b.problem, problem);
  });
  if (all.size() > most) all.resize(most);
  return all;
}

Predictor::Predictor(const std::vector<Config>& candidates, const Problem& problem, const Neighbours& known)
    : candidates_(candidates.size()) {
  for (const Neighbour& neighbour : known) {
    const double away = distance(neighbour.problem, problem);
    nearness_.push_back(1 / (kNearest + away * away));
    const Slowness slowness(neighbour);
    std::vector<double>& row = slowness_.emplace_back();
    for (const Config& candidate : candidates) row.push_back(slowness.of(candidate));
  }
}

std::vector<double> Predictor::expected() const {
  std::vector<double> mean(candidates_, 0);
  double total = 0;
  for (const double nearness : nearness_) total += nearness;
  for (std::size_t p = 0; p < nearness_.size(); ++p) {
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += nearness_[p] / total * slowness_[p][i];
  }
  return mean;
}

std::vector<std::size_t> by_merit(const std::vector<Config>& candidates, const Problem& problem,
                                  const Neighbours& known, std::uint64_t seed) {
  std::vector<std::size_t> order = shuffled(candidates.size(), seed);
  if (!known.empty()) {
    const std::vector<double> expected = Predictor(candidates, problem, known).expected();
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return expected[a] < expected[b]; });
  }
  return order;
}

}  // namespace tilewright
