// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "cache/config.hpp"
#include "cache/device_facts.hpp"
#include "cache/problem.hpp"
#include "cache/recipe.hpp"

/// Configs that nobody timed, made of what is known of others: the values that a parameter has somewhere are those it may
/// have. For who compiles configs for shapes that were never tuned, and knows no more of a space than the cache does. Pure.
namespace tilewright {

/// Values by parameter, in the recipe's order.
using SeenValues = std::vector<std::vector<std::int64_t>>;

/// Adds a config's values to those that were seen. Of another implementation's config nothing is added.
void see(const ImplementationRecipe& recipe, const Config& config, SeenValues& seen);

/// Whether no constraint forbids a config for the problem on the device: make_plan's first question, without its answer in
/// words.
[[nodiscard]] bool allowed(const ImplementationRecipe& recipe, const Config& config, const Problem& problem,
                           const DeviceFacts& device);

/// Every combination of values that no constraint forbids for the problem on the device; whether it can be launched
/// is make_plan's to judge. In the order of the values as first seen, the last parameter varying fastest.
[[nodiscard]] std::vector<Config> combinations(const ImplementationRecipe& recipe, const SeenValues& seen,
                                               const Problem& problem, const DeviceFacts& device);

}  // namespace tilewright
