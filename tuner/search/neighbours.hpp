// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cache/model/records.hpp"

/// The cache's trials of other shapes, in the form in which a search learns from it. Values.
namespace tilewright {

/// A problem of the same op, with its trials on the same device in the same mode.
struct Neighbour {
  Problem problem;
  /// Those that were timed.
  std::vector<Trial> trials;
  /// The config that serves it, where one was chosen.
  std::optional<Config> winner;
};

/// Nearest first.
using Neighbours = std::vector<Neighbour>;

/// The distance of two problems of one op: the Euclidean distance of the binary logarithms of their dims, in which a
/// dim that is twice as long is 1 away, as is another dtype or another value of an attribute.
[[nodiscard]] double distance(const Problem& a, const Problem& b);

/// The distance of two configs: for each parameter |log2| of the ratio of its values where both are positive, else
/// their difference; a parameter that only one has counts 1. Infinity between implementations.
[[nodiscard]] double distance(const Config& a, const Config& b);

/// Orders by distance from `problem`, leaves out the problem itself, and keeps the `most` nearest.
[[nodiscard]] Neighbours nearest(Neighbours all, const Problem& problem, std::size_t most);

/// Its trials that tell most, the fastest first: so many of the fastest, and so many of the others (keep_excerpt).
[[nodiscard]] std::vector<const Trial*> telling(const Neighbour& known, std::size_t fastest, std::size_t others);

}  // namespace tilewright
