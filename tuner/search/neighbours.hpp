// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cache/model/records.hpp"

/// The cache's trials of other shapes, as a search learns from them. Values.
namespace tilewright {

/// A problem of the same op, with its trials on the same device in the same mode.
struct Neighbour {
  Problem problem;
  /// The timed trials.
  std::vector<Trial> trials;
  /// The config that serves the problem, if one was chosen.
  std::optional<Config> winner;
};

/// Nearest first.
using Neighbours = std::vector<Neighbour>;

/// The Euclidean distance of the binary logarithms of two problems' dims: a dim twice as long is 1 away. A different
/// dtype or attribute value also counts 1.
[[nodiscard]] double distance(const Problem& a, const Problem& b);

/// The sum over parameters of |log2| of the values' ratio if both are positive, else of their difference. A parameter
/// that only one config has counts 1. Infinity between implementations.
[[nodiscard]] double distance(const Config& a, const Config& b);

/// Sorts by distance from `problem`, omits the problem itself, and keeps the `most` nearest. The last of them yields to
/// the nearest of the same dims, if none is kept.
[[nodiscard]] Neighbours nearest(Neighbours all, const Problem& problem, std::size_t most);

/// The most informative trials, fastest first: `fastest` of the fastest and `others` of the rest (keep_excerpt).
[[nodiscard]] std::vector<const Trial*> telling(const Neighbour& known, std::size_t fastest, std::size_t others);

}  // namespace tilewright
