// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/surrogate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "tuner/search/leaders.hpp"

namespace tilewright {
namespace {

// Of a neighbour so many of its fastest trials count, and so many of the others, evenly drawn from fast to slow.
constexpr std::size_t kFastest = 8;
constexpr std::size_t kOthers = 40;
// A slowness beyond a factor of e is a slowness like any other.
constexpr double kSlowest = 1;
// Variances: of a config on a shape, of a config on all shapes, of an implementation on a shape, of a shape; and of a
// round.
constexpr double kOfConfig = 0.05;
constexpr double kOfConfigEverywhere = 0.02;
constexpr double kOfImplementation = 0.02;
constexpr double kOfShape = 0.02;
constexpr double kOfMeasuring = 1e-4;
// How fast the problem at hand is as a whole, of which nothing is known before it is measured.
constexpr double kOfProblem = 1;
// Steps in the space, and doublings of dims, over which likeness falls to 1/e.
constexpr double kReach = 3;
constexpr double kReachEverywhere = 2 * kReach;
constexpr double kReachOfShapes = 3;
// How much of a deviation makes up for a slowness that is expected.
constexpr double kCuriosity = 0.5;

/// A config on a problem, in numbers.
struct Point {
  std::size_t implementation = 0;
  std::vector<double> place;
  std::size_t problem = 0;
};

/// The parameters that any config has, each with the index of its number.
class Places {
 public:
  explicit Places(const SearchSpace& space) : space_(space) {
    for (const Config& config : space.candidates) add(config);
    for (const Neighbour& known : space.known) {
      for (const Trial& trial : known.trials) add(trial.config);
    }
  }

  [[nodiscard]] Point of(const Config& config, const Problem& problem, std::size_t index) const {
    // One below that of zero: what has no such parameter is unlike what has it.
    Point point{implementations_.at(config.implementation), std::vector<double>(indices_.size() + 1, -2.0), index};
    for (const auto& [name, value] : config.values) {
      point.place[indices_.at(name)] = value > 0 ? std::log2(static_cast<double>(value)) : -1.0;
    }
    point.place.back() = log_of_fill(config, problem, space_.tiling);
    return point;
  }

 private:
  void add(const Config& config) {
    implementations_.emplace(config.implementation, implementations_.size());
    for (const auto& [name, value] : config.values) indices_.emplace(name, indices_.size());
  }

  const SearchSpace& space_;
  std::map<std::string, std::size_t> indices_;
  std::map<std::string, std::size_t> implementations_;
};

/// How alike two problems are, by their indices; the last is the problem at hand.
Matrix likeness_of_shapes(const SearchSpace& space) {
  std::vector<const Problem*> problems;
  for (const Neighbour& known : space.known) problems.push_back(&known.problem);
  problems.push_back(&space.problem);
  Matrix likeness(problems.size(), problems.size());
  for (std::size_t i = 0; i < problems.size(); ++i) {
    for (std::size_t j = 0; j < problems.size(); ++j) {
      likeness[i][j] = std::exp(-distance(*problems[i], *problems[j]) / kReachOfShapes);
    }
  }
  return likeness;
}

double covariance(const Point& a, const Point& b, const Matrix& shapes) {
  const double alike = shapes[a.problem][b.problem];
  if (a.implementation != b.implementation) return kOfShape * alike;
  double apart = 0;
  for (std::size_t i = 0; i < a.place.size(); ++i) apart += std::abs(a.place[i] - b.place[i]);
  // The one is the other's square, and an exponential is most of what a pair costs.
  const double everywhere = std::exp(-apart / kReachEverywhere);
  return alike * (kOfConfig * everywhere * everywhere + kOfImplementation + kOfShape) +
         kOfConfigEverywhere * everywhere;
}

/// The trials of a neighbour that count, fastest first.
std::vector<const Trial*> telling(const Neighbour& known) {
  std::vector<const Trial*> all;
  for (const Trial& trial : known.trials) {
    if (timed(trial)) all.push_back(&trial);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Trial* a, const Trial* b) { return a->timing->median_ns < b->timing->median_ns; });
  if (all.size() <= kFastest + kOthers) return all;
  const std::size_t rest = all.size() - kFastest;
  for (std::size_t i = 0; i < kOthers; ++i) all[kFastest + i] = all[kFastest + (2 * i + 1) * rest / (2 * kOthers)];
  all.resize(kFastest + kOthers);
  return all;
}

}  // namespace

Surrogate::Surrogate(const SearchSpace& space)
    : mean_(space.candidates.size()), covariance_(space.candidates.size(), space.candidates.size()) {
  const Places places(space);
  const Matrix shapes = likeness_of_shapes(space);
  std::vector<Point> points;
  std::vector<double> slowness;
  for (std::size_t p = 0; p < space.known.size(); ++p) {
    const std::vector<const Trial*> trials = telling(space.known[p]);
    for (const Trial* trial : trials) {
      points.push_back(places.of(trial->config, space.known[p].problem, p));
      slowness.push_back(std::min(kSlowest, std::log(trial->timing->median_ns / trials.front()->timing->median_ns)));
    }
  }
  double average = 0;
  for (const double each : slowness) average += each / static_cast<double>(slowness.size());
  for (double& each : slowness) each -= average;

  Matrix factored(points.size(), points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) factored[i][j] = covariance(points[i], points[j], shapes);
    factored[i][i] += kOfMeasuring;
  }
  factor(factored);
  solve_lower(factored, slowness);

  const std::size_t count = space.candidates.size();
  std::vector<Point> candidates;
  for (const Config& config : space.candidates) {
    candidates.push_back(places.of(config, space.problem, space.known.size()));
  }
  Matrix explained(count, points.size());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < points.size(); ++j) explained[i][j] = covariance(candidates[i], points[j], shapes);
    solve_lower(factored, explained[i]);
    mean_[i] = average + dot(explained[i], slowness, points.size());
    for (std::size_t j = 0; j <= i; ++j) {
      covariance_[i][j] = covariance_[j][i] =
          covariance(candidates[i], candidates[j], shapes) - dot(explained[i], explained[j], points.size());
    }
  }
}

std::vector<double> Surrogate::promise(const std::vector<std::optional<Trial>>& told,
                                       const std::vector<std::size_t>& chosen) const {
  std::vector<std::size_t> points;
  double fastest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < told.size(); ++i) {
    if (!told[i] || !timed(*told[i])) continue;
    fastest = std::min(fastest, told[i]->timing->median_ns);
    points.push_back(i);
  }
  const std::size_t seen = points.size();
  std::vector<double> rest;
  double offset = 0;
  for (const std::size_t i : points) {
    rest.push_back(std::min(kSlowest, std::log(told[i]->timing->median_ns / fastest)) - mean_[i]);
    offset += rest.back() / static_cast<double>(seen);
  }
  for (double& each : rest) each -= offset;
  points.insert(points.end(), chosen.begin(), chosen.end());

  // Of the trials first: what is chosen changes how sure is what they say, and nothing else.
  Matrix factored(points.size(), points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) factored[i][j] = covariance_[points[i]][points[j]] + kOfProblem;
    factored[i][i] += kOfMeasuring;
  }
  factor(factored);
  rest.resize(points.size());
  solve_lower(factored, rest);
  std::vector<double> result;
  std::vector<double> explained(points.size());
  for (std::size_t i = 0; i < mean_.size(); ++i) {
    for (std::size_t j = 0; j < points.size(); ++j) explained[j] = covariance_[i][points[j]] + kOfProblem;
    solve_lower(factored, explained);
    const double variance = covariance_[i][i] + kOfProblem - dot(explained, explained, points.size());
    result.push_back(mean_[i] + dot(explained, rest, seen) - kCuriosity * std::sqrt(std::max(variance, 0.0)));
  }
  return result;
}

}  // namespace tilewright
