// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "cache/model/config_id.hpp"

/// What to expect of configs at one problem, whatever that is judged by: what was learned of the op
/// (cache/predict/model_predictor.hpp), or the nearest shapes (cache/predict/nearest.hpp).
namespace tilewright {

class Predictor {
 public:
  Predictor() = default;
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;
  virtual ~Predictor() = default;

  /// Of each config, by how much it is slower than the best there is, a natural logarithm; nothing of one that is not
  /// known, or that has no launch at the problem.
  [[nodiscard]] virtual std::vector<std::optional<double>> losses(const std::vector<ConfigId>& configs) const = 0;
};

}  // namespace tilewright
