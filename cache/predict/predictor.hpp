// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cache/model/config_id.hpp"

/// The expected losses of configs at one problem, by a model of the op (cache/predict/model_predictor.hpp) or by the
/// nearest shapes (cache/predict/nearest.hpp).
namespace tilewright {

/// A config serves poorly if its expected loss, a natural logarithm, is at least this: twice the fastest's time.
inline constexpr double kPoorLoss = 0.6931471805599453;

class Predictor {
 public:
  Predictor() = default;
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;
  virtual ~Predictor() = default;

  /// The loss of each config: how much slower it is than the best, a natural logarithm. nullopt for an unknown config,
  /// and for one that cannot be launched at the problem.
  [[nodiscard]] virtual std::vector<std::optional<double>> losses(std::span<const ConfigId* const> configs) const = 0;
};

}  // namespace tilewright
