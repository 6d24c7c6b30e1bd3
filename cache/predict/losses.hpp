// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "cache/model/records.hpp"
#include "cache/plan/padding.hpp"

/// The losses of the trials of some shapes against each shape's best, and what follows from them: which dims matter,
/// and the cost of padding. Pure.
namespace tilewright {

/// A map by configs owned elsewhere: thousands are looked up.
template <class Value>
using ByConfig =
    std::unordered_map<std::reference_wrapper<const ConfigId>, Value, std::hash<ConfigId>, std::equal_to<ConfigId>>;

/// The loss of each config timed at a shape against the fastest there, a natural logarithm.
using Losses = ByConfig<double>;
[[nodiscard]] Losses losses_at(const ShapeSummary& shape);
[[nodiscard]] std::vector<Losses> losses_of(const std::vector<ShapeSummary>& known);
/// Losses are capped at this: no such config is chosen.
constexpr double kMostLoss = 1;

/// The number of doublings between two lengths.
[[nodiscard]] double doublings(std::int64_t a, std::int64_t b);

/// For each dim the cost of a doubling, as a natural logarithm of time. Least squares over the pairs of shapes where
/// the winner of one was timed at the other; near pairs count more, with a pull towards kUsualWeight. At least 0.2 %.
[[nodiscard]] std::vector<double> dim_weights(const std::vector<ShapeSummary>& known,
                                              const std::vector<Losses>& losses);
constexpr double kUsualWeight = 0.05;

/// The logarithm of the padding of each config timed at each shape, without zeros; empty maps if `padding` is empty.
[[nodiscard]] std::vector<ByConfig<double>> paddings_of(const std::vector<ShapeSummary>& known,
                                                        const std::vector<Losses>& losses, const LogPadding& padding);
/// The config's value, or 0 without one.
[[nodiscard]] double value_at(const ByConfig<double>& values, const ConfigId& config);

/// The power of the padding that a config's times follow, 0 to 1: least squares over the differences between shapes,
/// with a pull towards 0. About 1 if computing bounds the time, less if idle lanes cost little.
[[nodiscard]] double cost_of_padding(const std::vector<Losses>& losses, const std::vector<ByConfig<double>>& paddings);

}  // namespace tilewright
