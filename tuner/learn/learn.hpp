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

/// Learns a model of an op's config losses at untuned shapes from its trials on a device. One model covers all dtypes
/// and attributes: a spec with few tuned shapes profits from the others. Pure but for the store, for any thread.
namespace tilewright {

/// With fewer shapes or trials nothing is learned: the nearest shapes decide (cache/predict/nearest.hpp).
constexpr std::size_t kFewestShapesToLearn = 16;
constexpr std::size_t kFewestTrialsToLearn = 256;
/// The fewest trials a shape of a spec, on average: from winners alone a model learns that all configs are good.
constexpr std::size_t kFewestTrialsEach = 8;

/// Models the natural logarithm of a config's time over the fastest at its shape, clipped to kMostLoss; fast configs
/// weigh more. The model never proposes a base or a config that failed in any spec. Base trials still train it. A spec
/// with fewer than kFewestTrialsEach a shape adds no rows. Nullopt below the two other minima. `lessons` (lessons_of)
/// train as the op's own specs do, but their configs are not proposed. Passes on errors of `recipe_of` and make_plan.
[[nodiscard]] std::optional<LossModel> learn(const OpInterface& interface, const DeviceFacts& device,
                                             const std::vector<SpecSummary>& known, const RecipeOf& recipe_of,
                                             const std::vector<SpecSummary>& lessons = {});
/// Learns from all specs of the op in the store, and from lessons.
[[nodiscard]] std::optional<LossModel> learn(const Store& store, const OpInterface& interface,
                                             const DeviceFacts& device, MeasureMode mode, const Lessons& lessons = {});

}  // namespace tilewright
