// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cache/device_facts.hpp"
#include "cache/features.hpp"
#include "cache/interface.hpp"
#include "cache/loss_model.hpp"
#include "cache/padding.hpp"
#include "cache/problem.hpp"
#include "cache/store/records.hpp"
#include "cache/winner_source.hpp"

/// From the trials of an op, dtype and attributes on a device to what they let expect of its configs at other shapes. Pure.
namespace tilewright {

/// Of fewer shapes or trials nothing is learned: then the nearest speak for themselves (cache/nearest.hpp).
constexpr std::size_t kFewestShapesToLearn = 16;
constexpr std::size_t kFewestTrialsToLearn = 256;
/// For each shape: winners alone teach that everything is good.
constexpr std::size_t kFewestTrialsEach = 8;

/// Learns by how much each config that was timed at a shape is slower than the fastest there, beyond a factor of e all alike; those
/// that are nearly as fast count the more. Bases are left out; a config that failed anywhere is not among the model's
/// configs. Nothing for too few. Throws what `recipe_of` and make_plan throw.
[[nodiscard]] std::optional<LossModel> learn(const OpInterface& interface, const OpSpec& spec,
                                             const DeviceFacts& device, const std::vector<KnownShape>& known,
                                             const RecipeOf& recipe_of);
/// The same of all shapes of a source.
[[nodiscard]] std::optional<LossModel> learn(const WinnerSource& source, const OpInterface& interface,
                                             const OpSpec& spec, const DeviceFacts& device, MeasureMode mode);

}  // namespace tilewright
