// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/model/device_facts.hpp"
#include "cache/model/interface.hpp"
#include "cache/model/problem.hpp"
#include "cache/plan/padding.hpp"
#include "cache/predict/loss_model.hpp"
#include "cache/predict/predictor.hpp"

/// Predicts by a model that was learned from an op's trials.
namespace tilewright {

class ModelPredictor final : public Predictor {
 public:
  /// `device` is the trials' device. The arguments must outlive this object.
  ModelPredictor(const LossModel& model, const OpInterface& interface, const Problem& problem,
                 const DeviceFacts& device, RecipeOf recipe_of);

  [[nodiscard]] std::vector<std::optional<double>> losses(std::span<const ConfigId* const> configs) const override;

 private:
  const LossModel& model_;
  const OpInterface& interface_;
  const Problem& problem_;
  const DeviceFacts& device_;
  RecipeOf recipe_of_;
};

}  // namespace tilewright
