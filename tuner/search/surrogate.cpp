// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/surrogate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "tuner/search/excerpt.hpp"
#include "tuner/search/leaders.hpp"

namespace tilewright {
namespace {

// The trials that count: the fastest and others of the problem's own, and of each neighbour's.
constexpr std::size_t kFastestLearnt = 64;
constexpr std::size_t kOthersLearnt = 128;
constexpr std::size_t kFastestOfNeighbour = 8;
constexpr std::size_t kOthersOfNeighbour = 40;
// The most cached candidates.
constexpr std::size_t kMostKept = 4096;
// Slowness is capped at a factor of e.
constexpr double kSlowest = 1;
// Variances of a config on a shape, of a config on all shapes, of an implementation on a shape, of a shape, and of a
// measurement.
constexpr double kOfConfig = 0.05;
constexpr double kOfConfigEverywhere = 0.02;
constexpr double kOfImplementation = 0.02;
constexpr double kOfShape = 0.02;
constexpr double kOfMeasuring = 1e-4;
// The variance of the searched problem's overall speed, which is unknown before it is measured.
constexpr double kOfProblem = 1;
// The doublings of parameters over which likeness on a shape falls to 1/e², and of dims over which it falls to 1/e.
constexpr double kReach = 6;
constexpr double kReachOfShapes = 3;
// Idleness is capped where a launch leaves three quarters idle.
constexpr double kMostIdle = 1.4;
// The share of a standard deviation that offsets expected slowness.
constexpr double kCuriosity = 0.5;
constexpr double kLeastPivot = 1e-9;

using Row = std::vector<double>;

double dot(std::span<const double> a, std::span<const double> b, std::size_t count) {
  // Four sums, because the additions of one would wait for each other.
  double sums[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < count; ++i) sums[0] += a[i] * b[i];
  return sums[0] + sums[1] + sums[2] + sums[3];
}

/// Replaces the lower half of a symmetric positive definite matrix A by L with L · Lᵀ = A. A small pivot mends rounding
/// if A is nearly singular.
void factor(std::vector<Row>& lower) {
  for (std::size_t i = 0; i < lower.size(); ++i) {
    Row& row = lower[i];
    for (std::size_t j = 0; j < i; ++j) row[j] = (row[j] - dot(row, lower[j], j)) / lower[j][j];
    row[i] = std::sqrt(std::max(row[i] - dot(row, row, i), kLeastPivot));
  }
}

/// Replaces b by the x of L · x = b.
void solve(const std::vector<Row>& factored, Row& b) {
  for (std::size_t i = 0; i < factored.size(); ++i) b[i] = (b[i] - dot(factored[i], b, i)) / factored[i][i];
}

/// The trials that count.
std::vector<std::size_t> telling(const std::vector<std::optional<Trial>>& told) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < told.size(); ++i) {
    if (told[i] && timed(*told[i])) all.push_back(i);
  }
  if (all.size() <= kFastestLearnt + kOthersLearnt) return all;
  std::ranges::stable_sort(all, {}, [&](std::size_t i) { return told[i]->timing->median_ns; });
  keep_excerpt(all, kFastestLearnt, kOthersLearnt);
  return all;
}

double slowness(double ns, double fastest_ns) { return std::min(kSlowest, std::log(ns / fastest_ns)); }

}  // namespace

Surrogate::Surrogate(const SearchSpace& space) : space_(space) {
  for (const Config& config : space.candidates) add(config);
  for (const Neighbour& known : space.known) {
    problems_.push_back(&known.problem);
    for (const Trial& trial : known.trials) add(trial.config);
  }
  problems_.push_back(&space.problem);
  for (const Problem* a : problems_) {
    Row& row = alike_.emplace_back();
    for (const Problem* b : problems_) row.push_back(std::exp(-distance(*a, *b) / kReachOfShapes));
  }
  for (std::size_t p = 0; p < space.known.size(); ++p) {
    const std::vector<const Trial*> trials = telling(space.known[p], kFastestOfNeighbour, kOthersOfNeighbour);
    for (const Trial* trial : trials) {
      seen_.push_back(point_of(trial->config, p));
      weights_.push_back(slowness(trial->timing->median_ns, trials.front()->timing->median_ns));
    }
  }
  for (const double each : weights_) average_ += each / static_cast<double>(weights_.size());
  for (double& each : weights_) each -= average_;
  for (const Point& point : seen_) {
    Row& row = factored_.emplace_back();
    for (std::size_t j = 0; j < factored_.size(); ++j) row.push_back(covariance(point, seen_[j]));
    row.back() += kOfMeasuring;
  }
  factor(factored_);
  solve(factored_, weights_);
}

void Surrogate::add(const Config& config) {
  implementations_.emplace(config.implementation, implementations_.size());
  axes_.add(config.implementation, config);
}

Surrogate::Point Surrogate::point_of(const Config& config, std::size_t problem) const {
  Point point{implementations_.at(config.implementation), problem, axes_.place_of(config.implementation, config)};
  const double idle = space_.idle ? space_.idle(config, *problems_[problem]) : 0;
  point.place.push_back(static_cast<float>(std::min(kMostIdle, idle) / std::log(2.0)));
  return point;
}

double Surrogate::covariance(const Point& a, const Point& b) const {
  const double alike = alike_[a.problem][b.problem];
  if (a.implementation != b.implementation) return kOfShape * alike;
  double apart = 0;
  for (std::size_t i = 0; i < a.place.size(); ++i) apart += std::abs(static_cast<double>(a.place[i] - b.place[i]));
  // One term is the other's square. The exponential is most of the cost of a pair.
  const double everywhere = std::exp(-apart / kReach);
  return alike * (kOfConfig * everywhere * everywhere + kOfImplementation + kOfShape) +
         kOfConfigEverywhere * everywhere;
}

const Surrogate::Candidate& Surrogate::candidate(std::size_t i) const {
  const auto [place, is_new] = candidates_.try_emplace(i);
  if (!is_new) return place->second;
  Candidate& candidate = place->second;
  candidate.point = point_of(space_.candidates[i], space_.known.size());
  for (const Point& each : seen_) candidate.explained.push_back(covariance(candidate.point, each));
  solve(factored_, candidate.explained);
  candidate.mean = average_ + dot(candidate.explained, weights_, seen_.size());
  return candidate;
}

double Surrogate::covariance(const Candidate& a, const Candidate& b) const {
  return kOfProblem + covariance(a.point, b.point) - dot(a.explained, b.explained, seen_.size());
}

std::vector<double> Surrogate::promise(const std::vector<std::size_t>& asked,
                                       const std::vector<std::optional<Trial>>& told,
                                       const std::vector<std::size_t>& chosen) const {
  if (candidates_.size() > kMostKept) candidates_.clear();
  std::vector<std::size_t> measured = telling(told);
  double fastest = std::numeric_limits<double>::infinity();
  for (const std::size_t i : measured) fastest = std::min(fastest, told[i]->timing->median_ns);
  std::vector<const Candidate*> points;
  Row rest;
  double offset = 0;
  for (const std::size_t i : measured) {
    points.push_back(&candidate(i));
    rest.push_back(slowness(told[i]->timing->median_ns, fastest) - points.back()->mean);
    offset += rest.back() / static_cast<double>(measured.size());
  }
  for (double& each : rest) each -= offset;
  for (const std::size_t i : chosen) points.push_back(&candidate(i));

  // Trials come first: `chosen` changes only the uncertainty.
  std::vector<Row> factored;
  for (const Candidate* point : points) {
    Row& row = factored.emplace_back();
    for (std::size_t j = 0; j < factored.size(); ++j) row.push_back(covariance(*point, *points[j]));
    row.back() += kOfMeasuring;
  }
  factor(factored);
  rest.resize(points.size());
  solve(factored, rest);
  std::vector<double> result;
  Row explained(points.size());
  for (const std::size_t i : asked) {
    const Candidate& own = candidate(i);
    std::ranges::transform(points, explained.begin(), [&](const Candidate* each) { return covariance(own, *each); });
    solve(factored, explained);
    const double variance = covariance(own, own) - dot(explained, explained, points.size());
    result.push_back(own.mean + dot(explained, rest, measured.size()) -
                     kCuriosity * std::sqrt(std::max(variance, 0.0)));
  }
  return result;
}

}  // namespace tilewright
