// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cache/predict/config_axes.hpp"
#include "tuner/search/strategy.hpp"

/// Expected times of a problem's candidates and their uncertainty, learned from trials of the op's other problems and
/// of its own (docs/tuning.md): a Gaussian process over parameters, shapes and how launches fill the device. Memory and
/// time of a query are bounded, however many candidates and trials there are. For one thread.
namespace tilewright {

class Surrogate {
 public:
  /// Keeps a reference to `space`, and learns from `space.known`.
  explicit Surrogate(const SearchSpace& space);

  /// The promise of each candidate of `asked`, least is best: the expected logarithm of its slowness, less a share of
  /// its uncertainty. `told` are the problem's own trials by candidate. `chosen` will be told, too; they reduce the
  /// uncertainty of similar candidates.
  [[nodiscard]] std::vector<double> promise(const std::vector<std::size_t>& asked,
                                            const std::vector<std::optional<Trial>>& told,
                                            const std::vector<std::size_t>& chosen = {}) const;

 private:
  using Row = std::vector<double>;
  /// A config on a problem, as numbers.
  struct Point {
    std::size_t implementation = 0;
    std::size_t problem = 0;
    std::vector<float> place;
  };
  /// A config's expectation before its own problem is known, and the part of it that the neighbours explain.
  struct Candidate {
    Point point;
    Row explained;
    double mean = 0;
  };

  void add(const Config& config);
  [[nodiscard]] Point point_of(const Config& config, std::size_t problem) const;
  [[nodiscard]] double covariance(const Point& a, const Point& b) const;
  [[nodiscard]] double covariance(const Candidate& a, const Candidate& b) const;
  [[nodiscard]] const Candidate& candidate(std::size_t i) const;

  const SearchSpace& space_;
  ConfigAxes axes_;
  std::map<std::string, std::size_t> implementations_;
  /// The neighbours' problems, then the searched one; and the likeness of each pair.
  std::vector<const Problem*> problems_;
  std::vector<Row> alike_;
  /// The neighbours' trials, the factor of their covariances, and their losses solved by it.
  std::vector<Point> seen_;
  std::vector<Row> factored_;
  Row weights_;
  double average_ = 0;
  /// Recently asked candidates.
  mutable std::unordered_map<std::size_t, Candidate> candidates_;
};

}  // namespace tilewright
