// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "cache/predict/loss_model.hpp"

/// Hand-made models, for tests that query a model without learning it.
namespace tilewright::test {

/// One tree with one cut: configs below it in a feature lose `below`, all others `otherwise`.
struct OneCut {
  std::size_t feature = 0;
  float cut = 0;
  double below = 0;
  double otherwise = 0;
  /// What losses are multiples of.
  double unit = 1.0 / 1024;
};

/// `configs`: each with the index of its implementation in the space.
inline LossModel model_of(FeatureSpace space, const OneCut& cut,
                          const std::vector<std::pair<std::size_t, std::string>>& configs = {},
                          std::size_t shapes = 16) {
  LossModel::Contents contents;
  contents.space = std::move(space);
  for (const auto& [implementation, config] : configs) {
    contents.configs.push_back({implementation, Config::parse(config)});
  }
  contents.cuts.resize(contents.space.count());
  contents.cuts.at(cut.feature) = {cut.cut};
  contents.nodes = {{static_cast<std::uint8_t>(cut.feature), 0, 2},
                    LossModel::leaf(cut.below / cut.unit),
                    LossModel::leaf(cut.otherwise / cut.unit)};
  contents.roots = {0};
  contents.unit = static_cast<float>(cut.unit);
  contents.shapes = shapes;
  return LossModel(std::move(contents));
}

}  // namespace tilewright::test
