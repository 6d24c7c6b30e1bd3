// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cache/predict/loss_model.hpp"

/// Gradient-boosted regression trees by histograms (Friedman 2001; leaf by leaf as LightGBM, Ke et al. 2017): each tree
/// halves leaves where that explains most of what the trees before it leave of the targets. Each tree learns from a
/// part of the groups (as of the rows in Friedman, "Stochastic gradient boosting", 2002), but by turns: no draw is
/// made, and the same rows in the same order give the same trees, with one build of the program. Pure.
namespace tilewright {

struct BoostingRows {
  std::size_t features = 0;
  /// Row by row, `features` each.
  std::vector<float> values{};
  std::vector<float> targets{};
  /// The weight of each row, above 0.
  std::vector<float> weights{};
  /// The group of each, such as a shape: rows of one group are alike beyond their features. Empty: nothing is known of
  /// it.
  std::vector<std::size_t> groups{};
  [[nodiscard]] std::size_t count() const noexcept { return targets.size(); }
};

struct BoostingSettings {
  /// At most: where a part of the groups has nothing to teach, its turn passes without one.
  int trees = 1000;
  /// A tree learns without one of so many parts of the groups, the next without the next: what one group says by chance
  /// is not learned by heart. 1 or fewer: from all.
  std::size_t parts = 8;
  /// Leaves of a tree; at most 127, since a node's right is a byte.
  std::size_t leaves = 63;
  /// The part of a leaf's explanation that is taken.
  double rate = 0.1;
  /// The fewest rows of a leaf.
  std::size_t rows = 20;
  /// Weight of rows that nothing is known of, in each leaf.
  double doubt = 1;
};

/// The parts of a model that are learned of rows: cuts, nodes, roots, mean and unit.
void boost(const BoostingRows& rows, const BoostingSettings& settings, LossModel::Contents& contents);

}  // namespace tilewright
