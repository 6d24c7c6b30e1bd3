// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "cache/model/config_id.hpp"
#include "cache/model/device_facts.hpp"
#include "cache/model/problem.hpp"
#include "cache/model/recipe.hpp"

/// The idle part of a config's blocks, by its recipe's `covers`. It makes a config that is good at 4096 columns bad at
/// 4100, which no dim or parameter shows. Pure.
namespace tilewright {

/// The elements that blocks cover over the problem's elements, a product over the dims with a cover: 8 if 128 rows are
/// covered for 16; 1 without a cover. Throws DefinitionError if a cover cannot be evaluated or is not positive.
[[nodiscard]] double padding_of(const ImplementationRecipe& recipe, const Config& config, const Problem& problem,
                                const DeviceFacts& device);

/// The same, but 1 if a cover has no value at this shape.
[[nodiscard]] double padding_or_none(const ImplementationRecipe& recipe, const Config& config, const Problem& problem,
                                     const DeviceFacts& device);

/// The recipe of an implementation, by its hash; the reference stays valid.
using RecipeOf = std::function<const ImplementationRecipe&(const std::string& hash)>;

/// The natural logarithm of a config's padding at a shape of the op.
using LogPadding = std::function<double(const ConfigId& config, std::span<const std::int64_t> dims)>;

/// The padding at the shapes of a problem's spec on a device, with recipes from `recipe_of`, whose exceptions pass
/// through. A cover without a value at a shape pads nothing there. Keeps a reference to `device`.
[[nodiscard]] LogPadding log_padding(RecipeOf recipe_of, const Problem& problem, const DeviceFacts& device);

}  // namespace tilewright
