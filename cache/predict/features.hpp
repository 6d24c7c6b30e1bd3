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

/// A config at a shape in numbers, for a model that knows nothing of the op: what it is, what the shape is, and what
/// its launch would be there: how many blocks of how much work, how many of them a device holds at a time, and how full
/// the last wave is.
namespace tilewright {

/// The features and their order.
struct FeatureSpace {
  /// Hashes of all implementations, by the names of these, so that what is learned outlives a change of their sources.
  std::vector<std::string> implementations;
  /// Names of all their parameters, in order.
  std::vector<std::string> parameters;
  /// The number of the op's dims.
  std::size_t dims = 0;
  /// Attributes in which the problems differ that it was learned of, "dtype" among them.
  std::vector<std::string> attributes = {};
  /// How many of a config's kernels are described, from its last to its first.
  std::size_t kernels = 1;

  [[nodiscard]] std::size_t count() const noexcept;
  /// The numbers of a config of a known implementation for a problem of the op; nothing where it cannot be launched
  /// there, or the implementation is not known. Throws what make_plan throws of a definition's mistakes.
  [[nodiscard]] std::optional<std::vector<float>> of(const OpInterface& interface, const std::string& hash,
                                                     const ImplementationRecipe& recipe, const Config& config,
                                                     const Problem& problem, const DeviceFacts& device) const;
  friend bool operator==(const FeatureSpace&, const FeatureSpace&) = default;
};

/// The natural logarithm of a launch's whole work over the work asked: padding of its blocks, and idle multiprocessors
/// of its last wave, as far as threads and shared memory tell. 0 where it cannot be launched.
[[nodiscard]] double log_idle(const OpInterface& interface, const ImplementationRecipe& recipe, const Config& config,
                              const Problem& problem, const DeviceFacts& device);

}  // namespace tilewright
