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

/// The configs of one implementation, made of the values that each of its parameters may have: those of its definition,
/// or where only a cache is at hand, those that some config has. Pure.
namespace tilewright {

/// Values by parameter, in the recipe's order.
using SeenValues = std::vector<std::vector<std::int64_t>>;

/// Adds a config's values to those that were seen. Of another implementation's config nothing is added.
void see(const ImplementationRecipe& recipe, const Config& config, SeenValues& seen);

/// Whether no constraint forbids a config for the problem on the device: make_plan's first question, without its answer
/// in words.
[[nodiscard]] bool allowed(const ImplementationRecipe& recipe, const Config& config, const Problem& problem,
                           const DeviceFacts& device);

/// The same of many configs of a recipe. What it is made of must outlive it.
class Constraints {
 public:
  Constraints(const ImplementationRecipe& recipe, const Problem& problem, const DeviceFacts& device);
  [[nodiscard]] bool allow(const Config& config);

 private:
  const Problem& problem_;
  const DeviceFacts& device_;
  bool is_supported_;
  /// Whatever forbade a config comes first: it is likely to forbid the next.
  std::vector<const Formula*> constraints_;
};

/// Hears of a walk over a space.
struct SpaceVisitor {
  std::function<void(const Config& config)> allowed;
  /// `count` configs, that begin with the same values, are forbidden by this constraint. May be empty.
  std::function<void(const Formula& constraint, std::size_t count)> forbidden{};
};

/// Every config whose constraints hold for the problem on the device, the last parameter varying fastest; whether it
/// can be launched is make_plan's to judge. A constraint is judged as soon as its parameters have values, so that one
/// that is false cuts off all that begins alike; one that cannot be evaluated then may rely on another that is judged
/// later, and forbids nothing. `values`: in the order of the recipe's parameters.
void walk_space(const ImplementationRecipe& recipe, const SeenValues& values, const Problem& problem,
                const DeviceFacts& device, const SpaceVisitor& visitor);

/// Every combination of values that no constraint forbids for the problem on the device; whether it can be launched
/// is make_plan's to judge. None on a device that the implementation is not for. In the order of walk_space.
[[nodiscard]] std::vector<Config> combinations(const ImplementationRecipe& recipe, const SeenValues& seen,
                                               const Problem& problem, const DeviceFacts& device);

}  // namespace tilewright
