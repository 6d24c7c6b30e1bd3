// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "cache/model/records.hpp"
#include "cache/plan/padding.hpp"

/// The losses of the trials of some shapes to the best of each, and what they teach of the op: which dims matter, and
/// the cost of padding. Pure.
namespace tilewright {

/// A map by configs that live elsewhere: thousands are looked up.
template <class Value>
using ByConfig =
    std::unordered_map<std::reference_wrapper<const ConfigId>, Value, std::hash<ConfigId>, std::equal_to<ConfigId>>;

/// How much slower each config timed at a shape is than the fastest of them, a natural logarithm.
using Losses = ByConfig<double>;
[[nodiscard]] Losses losses_at(const ShapeSummary& shape);
[[nodiscard]] std::vector<Losses> losses_of(const std::vector<ShapeSummary>& known);
/// Losses are cut off here: no such config is chosen.
constexpr double kMostLoss = 1;

/// The powers of 2 between two lengths.
[[nodiscard]] double doublings(std::int64_t a, std::int64_t b);

/// For each dim the cost, as a natural logarithm of time, of a doubling: least squares over the pairs of shapes where
/// it is known how the winner of one does at the other, near pairs counting more, with a pull towards kUsualWeight.
/// Never below 0.2 %.
[[nodiscard]] std::vector<double> dim_weights(const std::vector<ShapeSummary>& known);
[[nodiscard]] std::vector<double> dim_weights(const std::vector<ShapeSummary>& known,
                                              const std::vector<Losses>& losses);
constexpr double kUsualWeight = 0.05;

/// The logarithm of the padding of each config that was timed at each shape, 0 left out; nothing where `padding` is
/// empty.
[[nodiscard]] std::vector<ByConfig<double>> paddings_of(const std::vector<ShapeSummary>& known,
                                                        const std::vector<Losses>& losses, const LogPadding& padding);
/// 0 where it is not there.
[[nodiscard]] double value_at(const ByConfig<double>& values, const ConfigId& config);

/// The power of the padding that times of a config go with, 0 to 1: least squares over how both differ from shape to
/// shape, with a pull towards 0. About 1 where computing bounds, less where a lane that has nothing to do costs little.
[[nodiscard]] double cost_of_padding(const std::vector<ShapeSummary>& known, const LogPadding& padding);
[[nodiscard]] double cost_of_padding(const std::vector<Losses>& losses, const std::vector<ByConfig<double>>& paddings);

}  // namespace tilewright
