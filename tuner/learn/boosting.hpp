// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cache/predict/loss_model.hpp"

/// Gradient-boosted regression trees by histograms (Friedman 2001; leaf-wise as LightGBM, Ke et al. 2017): each tree
/// splits the leaf whose split reduces the squared residuals most. Each tree leaves out a part of the groups (Friedman,
/// "Stochastic gradient boosting", 2002, leaves out rows) in turn, not at random: the same rows in the same order give
/// the same trees, with one build of the program. Pure, for any thread.
namespace tilewright {

struct BoostingRows {
  std::size_t features = 0;
  /// Row-major, `features` a row.
  std::vector<float> values{};
  std::vector<float> targets{};
  /// One weight a row, above 0.
  std::vector<float> weights{};
  /// The group of each row, such as its shape: rows of a group have more in common than their features. Empty: no
  /// groups.
  std::vector<std::size_t> groups{};
  [[nodiscard]] std::size_t count() const noexcept { return targets.size(); }
};

struct BoostingSettings {
  /// The most trees: a turn without a worthwhile split adds none.
  int trees = 1000;
  /// Parts of the groups, of which each tree leaves out one, in turn: this counters overfitting to single groups.
  /// 1 or fewer: none is left out.
  std::size_t parts = 8;
  /// Most leaves of a tree; at most 127, since a node's offset to its right child is one byte.
  std::size_t leaves = 63;
  /// The learning rate: the share of a leaf's mean residual that its value takes.
  double rate = 0.1;
  /// The fewest rows of a leaf.
  std::size_t rows = 8;
  /// Added to each leaf's weight: shrinks the values of light leaves.
  double doubt = 1;
};

/// Learns a model's cuts, nodes, roots, mean and unit from rows.
void boost(const BoostingRows& rows, const BoostingSettings& settings, LossModel::Contents& contents);

}  // namespace tilewright
