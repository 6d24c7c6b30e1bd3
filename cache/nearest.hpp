// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cache/store/records.hpp"

/// From tuned shapes to a shape that nobody tuned. How far two shapes are apart is a sum over dims: the binary logarithm of
/// the ratio of their lengths, times what a doubling of that dim costs who keeps the config of before. That cost is
/// learned from what is known of the shapes around: how their winners do at each other's. Pure.
namespace tilewright {

using ShapeDims = std::vector<std::int64_t>;

/// So many shapes are asked about one that was never tuned.
constexpr std::size_t kNeighbours = 16;

/// The `most` of `shapes` that are nearest to `shape` while nothing is known of the dims, nearest first. Of equals the one
/// that comes first.
[[nodiscard]] std::vector<ShapeDims> nearest_shapes(std::vector<ShapeDims> shapes, std::span<const std::int64_t> shape,
                                                    std::size_t most = kNeighbours);

/// For each dim the cost, as a natural logarithm of time, of a doubling: least squares over the pairs of shapes where it is
/// known how the winner of one does at the other, near pairs counting more, with a pull towards 5 %. Never below 0.2 %.
[[nodiscard]] std::vector<double> dim_weights(const std::vector<KnownShape>& known);

/// A config that may serve a shape, and by how much it is expected to be slower than the shape's best.
struct NearConfig {
  /// Where it is a winner, and as what; of several the nearest.
  ShapeDims tuned_for;
  WinnerRole role = WinnerRole::best;
  std::string implementation_hash;
  Config config;
  /// A natural logarithm.
  double expected_loss = 0;
};

/// Whether a winner may be thought of at all.
using Usable = std::function<bool(const KnownConfig& winner, const ShapeDims& tuned_for)>;

/// The winners of `known` for a shape, the least expected loss first: what is known of a config at each shape counts by the
/// nearness of the shape, and where nothing is known, a factor of two. Whether they are legal here is the caller's to judge.
/// Bases are left out, and what `usable` refuses: a winner, and the shape where it is one.
[[nodiscard]] std::vector<NearConfig> rank_nearest(const std::vector<KnownShape>& known,
                                                   std::span<const std::int64_t> shape, const Usable& usable);

}  // namespace tilewright
