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

/// The times expected of a problem's candidates, and how sure these are, learned from the trials of other problems of
/// the op and from its own (docs/tuning.md): a Gaussian process over parameters, shapes and how launches fill the
/// device. Memory and time of a question are bounded, however many candidates and trials there are.
namespace tilewright {

class Surrogate {
 public:
  /// Keeps a reference to `space`, and learns from `space.known`.
  explicit Surrogate(const SearchSpace& space);

  /// Of each of `asked`, how promising it is: the logarithm of its slowness as expected, less what it might be better
  /// by; the least promises most. `told`: the problem's own trials, by candidate. `chosen`: what will be told besides,
  /// of which only that is known: what is like it is less of a surprise then.
  [[nodiscard]] std::vector<double> promise(const std::vector<std::size_t>& asked,
                                            const std::vector<std::optional<Trial>>& told,
                                            const std::vector<std::size_t>& chosen = {}) const;

 private:
  using Row = std::vector<double>;
  /// A config on a problem, in numbers.
  struct Point {
    std::size_t implementation = 0;
    std::size_t problem = 0;
    std::vector<float> place;
  };
  /// The expectation of a config before its own problem is known, and the part of it that the neighbours explain.
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
  /// Those of the neighbours, and the one at hand; and how alike any two of them are.
  std::vector<const Problem*> problems_;
  std::vector<Row> alike_;
  /// The trials of the neighbours, the factor of their covariances, and what they lost, solved by it.
  std::vector<Point> seen_;
  std::vector<Row> factored_;
  Row weights_;
  double average_ = 0;
  /// The candidates that were asked for lately.
  mutable std::unordered_map<std::size_t, Candidate> candidates_;
};

}  // namespace tilewright
