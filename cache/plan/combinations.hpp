// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "cache/model/config.hpp"
#include "cache/model/device_facts.hpp"
#include "cache/model/problem.hpp"
#include "cache/model/recipe.hpp"

/// The configs of one implementation, made of the possible values of its parameters: the definition's values, or, with
/// only a cache at hand, the values of known configs. Pure.
namespace tilewright {

/// Values by parameter, in the recipe's order.
using SeenValues = std::vector<std::vector<std::int64_t>>;

/// Adds a config's values to `seen`. Ignores a config of another implementation.
void see(const ImplementationRecipe& recipe, const Config& config, SeenValues& seen);

/// True if no constraint forbids the config for the problem on the device: make_plan's first check, without the reason
/// in words.
[[nodiscard]] bool allowed(const ImplementationRecipe& recipe, const Config& config, const Problem& problem,
                           const DeviceFacts& device);

/// allowed() for many configs of a recipe. The constructor's arguments must outlive this object.
class Constraints {
 public:
  Constraints(const ImplementationRecipe& recipe, const Problem& problem, const DeviceFacts& device);
  [[nodiscard]] bool allow(const Config& config);

 private:
  const Problem& problem_;
  const DeviceFacts& device_;
  bool is_supported_;
  /// A constraint that forbids a config moves to the front: it is likely to forbid the next.
  std::vector<const Formula*> constraints_;
};

/// Receives the results of a walk over a space.
struct SpaceVisitor {
  std::function<void(const Config& config)> allowed;
  /// This constraint forbids `count` configs that begin with the same values. May be empty.
  std::function<void(const Formula& constraint, std::size_t count)> forbidden{};
};

/// Visits all configs whose constraints hold for the problem on the device, the last parameter varying fastest.
/// make_plan judges whether they can be launched. A constraint is evaluated as soon as its parameters have values: a
/// false one skips all configs with the same beginning. One that cannot be evaluated then forbids nothing, since it may
/// rely on a later one. `values`: in the order of the recipe's parameters.
void walk_space(const ImplementationRecipe& recipe, const SeenValues& values, const Problem& problem,
                const DeviceFacts& device, const SpaceVisitor& visitor);

/// All combinations of values that no constraint forbids for the problem on the device, in the order of walk_space.
/// make_plan judges whether they can be launched. Empty if the implementation does not support the device.
[[nodiscard]] std::vector<Config> combinations(const ImplementationRecipe& recipe, const SeenValues& seen,
                                               const Problem& problem, const DeviceFacts& device);

}  // namespace tilewright
