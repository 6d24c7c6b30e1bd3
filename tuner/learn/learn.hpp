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
#include "tuner/learn/known_specs.hpp"

/// From the trials of an op on a device to what they let expect of its configs at other shapes. One model for all
/// dtypes and attributes: what is tuned of few shapes in one of them is known from the others. Pure.
namespace tilewright {

/// Of fewer shapes or trials nothing is learned: then the nearest speak for themselves (cache/predict/nearest.hpp).
constexpr std::size_t kFewestShapesToLearn = 16;
constexpr std::size_t kFewestTrialsToLearn = 256;
/// For each shape of a spec, on average: winners alone teach that everything is good.
constexpr std::size_t kFewestTrialsEach = 8;

/// Learns by how much each config that was timed at a shape is slower than the fastest there, beyond a factor of e all
/// alike; those that are nearly as fast count the more. Among the model's configs is neither a base, which teaches all
/// the same, nor what failed anywhere; that is asked of all specs, and so are the implementations that it knows, while
/// those with too few trials teach nothing else. Nothing for too few. Throws what `recipe_of` and make_plan throw.
[[nodiscard]] std::optional<LossModel> learn(const OpInterface& interface, const DeviceFacts& device,
                                             const std::vector<KnownSpec>& known, const RecipeOf& recipe_of);
/// The same of all that a cache knows.
[[nodiscard]] std::optional<LossModel> learn(const Store& store, const OpInterface& interface,
                                             const DeviceFacts& device, MeasureMode mode);

}  // namespace tilewright
