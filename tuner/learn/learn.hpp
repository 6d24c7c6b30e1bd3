// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cache/model/device_facts.hpp"
#include "cache/model/interface.hpp"
#include "cache/plan/padding.hpp"
#include "cache/predict/loss_model.hpp"
#include "cache/store/store.hpp"
#include "tuner/learn/lessons.hpp"
#include "tuner/learn/spec_summaries.hpp"

/// From the trials of an op on a device to what they let expect of its configs at other shapes. One model for all
/// dtypes and attributes: what is tuned of few shapes in one of them is known from the others. Pure.
namespace tilewright {

/// Nothing is learned of fewer shapes or trials: the nearest shapes then decide (cache/predict/nearest.hpp).
constexpr std::size_t kFewestShapesToLearn = 16;
constexpr std::size_t kFewestTrialsToLearn = 256;
/// The fewest trials for each shape of a spec, on average: winners alone teach that everything is good.
constexpr std::size_t kFewestTrialsEach = 8;

/// A model of the natural logarithm of a config's time over the fastest at its shape, clipped to 1; fast configs weigh
/// more. It names the configs that may serve: all that were timed, without bases and without what failed in any spec.
/// Bases teach nevertheless. A spec with fewer than kFewestTrialsEach a shape adds no rows. Nothing below the two other
/// minima. `lessons` (lessons_of) teach as the op's own specs do, and their configs may not serve. Throws what
/// `recipe_of` and make_plan throw.
[[nodiscard]] std::optional<LossModel> learn(const OpInterface& interface, const DeviceFacts& device,
                                             const std::vector<SpecSummary>& known, const RecipeOf& recipe_of,
                                             const std::vector<SpecSummary>& lessons = {});
/// Learns from all specs of the op in the cache, and from lessons.
[[nodiscard]] std::optional<LossModel> learn(const Store& store, const OpInterface& interface,
                                             const DeviceFacts& device, MeasureMode mode, const Lessons& lessons = {});

}  // namespace tilewright
