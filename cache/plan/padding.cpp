// SPDX-License-Identifier: Apache-2.0
#include "cache/plan/padding.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/plan/plan_scope.hpp"

namespace tilewright {

double padding_of(const ImplementationRecipe& recipe, const Config& config, const Problem& problem,
                  const DeviceFacts& device) {
  double padding = 1;
  const PlanScope scope(problem, config, device);
  for (const auto& [dim, length] : problem.dims) {
    const auto cover = recipe.covers.find(dim);
    if (cover == recipe.covers.end() || length < 1) continue;
    const std::int64_t covered = cover->second.integer(scope);
    if (covered < 1) {
      const SourcePlace& at = cover->second.place();
      throw DefinitionError({Diagnostic{at.file, at.line, at.column,
                                        fmt::format("a block of {} covers {} of {} in {}, and must cover 1 at least",
                                                    config.text(), covered, dim, problem.key())}});
    }
    const auto asked = static_cast<double>(length);
    const auto each = static_cast<double>(covered);
    padding *= std::ceil(asked / each) * each / asked;
  }
  return padding;
}

double padding_or_none(const ImplementationRecipe& recipe, const Config& config, const Problem& problem,
                       const DeviceFacts& device) {
  try {
    return padding_of(recipe, config, problem, device);
  } catch (const DefinitionError&) {
    return 1;
  }
}

LogPadding log_padding(RecipeOf recipe_of, const Problem& problem, const DeviceFacts& device) {
  return [recipe_of = std::move(recipe_of), problem = Problem(problem), &device](
             const ConfigId& config, std::span<const std::int64_t> dims) mutable {
    const ImplementationRecipe& recipe = recipe_of(config.implementation_hash);
    if (recipe.covers.empty()) return 0.0;
    for (std::size_t d = 0; d < dims.size(); ++d) problem.dims[d].second = dims[d];
    return std::log(padding_or_none(recipe, config.config, problem, device));
  };
}

}  // namespace tilewright
