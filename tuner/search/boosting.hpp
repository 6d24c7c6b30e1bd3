// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cache/loss_model.hpp"

/// Gradient-boosted regression trees by histograms (Friedman 2001; leaf by leaf as LightGBM, Ke et al. 2017): each tree halves
/// leaves where that explains most of what the trees before it leave of the targets. No draw is made: the same rows give the
/// same trees. Pure.
namespace tilewright {

struct BoostingRows {
  std::size_t features = 0;
  /// Row by row, `features` each.
  std::vector<float> values{};
  std::vector<float> targets{};
  /// How much a row counts, above 0.
  std::vector<float> weights{};
  [[nodiscard]] std::size_t count() const noexcept { return targets.size(); }
};

struct BoostingSettings {
  int trees = 600;
  /// Of a tree; at most 127, since a node's right is a byte.
  std::size_t leaves = 63;
  /// How much of what a leaf would explain is taken.
  double rate = 0.07;
  /// Of a leaf, at least.
  std::size_t rows = 20;
  /// Weight of rows that nothing is known of, in each leaf.
  double doubt = 1;
};

/// The parts of a model that are learned of rows: cuts, nodes, roots, mean and unit.
void boost(const BoostingRows& rows, const BoostingSettings& settings, LossModel::Parts& parts);

}  // namespace tilewright
