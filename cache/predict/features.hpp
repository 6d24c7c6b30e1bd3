// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cache/model/config.hpp"
#include "cache/model/device_facts.hpp"
#include "cache/model/interface.hpp"
#include "cache/model/problem.hpp"
#include "cache/model/recipe.hpp"

/// A config at a shape in numbers, for a model that knows nothing of the op: the config, the shape, and the launch
/// there: the number of blocks, the work of each, how many a device holds at once, and how full the last wave is.
/// Values.
namespace tilewright {

/// The features and their order.
struct FeatureSpace {
  /// Hashes of all implementations, in the order of their names, so that a model outlives a change of their sources.
  std::vector<std::string> implementations;
  /// Names of all their parameters, in order.
  std::vector<std::string> parameters;
  /// The number of the op's dims.
  std::size_t dims = 0;
  /// Attributes in which the learned problems differ, "dtype" among them.
  std::vector<std::string> attributes = {};
  /// The number of a config's kernels that are described, from the last backwards.
  std::size_t kernels = 1;

  [[nodiscard]] std::size_t count() const noexcept;
  /// The features of a config for a problem of the op; nullopt if it cannot be launched there or its implementation is
  /// unknown. Throws as make_plan for a definition's mistakes.
  [[nodiscard]] std::optional<std::vector<float>> of(const OpInterface& interface, const std::string& hash,
                                                     const ImplementationRecipe& recipe, const Config& config,
                                                     const Problem& problem, const DeviceFacts& device) const;
  friend bool operator==(const FeatureSpace&, const FeatureSpace&) = default;
};

/// The natural logarithm of the work that a launch occupies over the work asked: padding of its blocks, and idle
/// multiprocessors of its last wave, as far as threads and shared memory tell. 0 if it cannot be launched.
[[nodiscard]] double log_idle(const OpInterface& interface, const ImplementationRecipe& recipe, const Config& config,
                              const Problem& problem, const DeviceFacts& device);

}  // namespace tilewright
