// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cache/model/interface.hpp"
#include "cache/plan/combinations.hpp"
#include "cache/predict/nearest.hpp"
#include "cache/serve/winner_source.hpp"

/// Spares: configs whose binaries are worth having for shapes that nobody tuned. A binary with specialised dims serves
/// one value of them, and the winners without are few and fit their shapes. So shapes are drawn between and around
/// those that were tuned, and configs are taken that are expected (cache/predict/nearest.hpp) to serve many of them
/// well; then those that were seen to be nearly the best at a tuned shape, which may well be the best of its
/// neighbours. Measures nothing.
namespace tilewright {

/// The values of each implementation's parameters, by its hash.
using SpaceValues = std::map<std::string, SeenValues>;

/// The values that some config of these shapes has.
[[nodiscard]] SpaceValues values_seen(const WinnerSource& source, const std::vector<ShapeSummary>& known);

struct Spare {
  /// Without specialised dims.
  ConfigId id;
  /// A shape that it is legal for.
  Problem serves;
  /// The tuned shape nearest to that.
  ShapeDims home;
};

/// Slower than the fastest without specialised dims by no more than this is nearly the best, as a natural logarithm.
inline constexpr double kNearlyBest = 0.05;

/// Configs that were nearly the best somewhere: those shapes, the one first where it lost least.
using NearlyBest = std::map<ConfigId, std::vector<ShapeDims>>;
/// Among those of the implementations of `space`, since what older sources were good for nobody can compile any more,
/// that are not among `failed`.
[[nodiscard]] NearlyBest nearly_best(const std::vector<ShapeSummary>& known, const SpaceValues& space,
                                     const ConfigIds& failed);
/// Neither winners nor spares.
[[nodiscard]] NearlyBest not_kept(NearlyBest nearly, const std::vector<ShapeSummary>& known);

/// At most `most`, those first that help most at drawn shapes beside what has a binary already: winners, and spares
/// that there are. Then what was nearly the best, those first that were so at most shapes. None of `failed`
/// (Store::failed_configs), and none where nothing is tuned. Deterministic.
[[nodiscard]] std::vector<Spare> choose_spares(const WinnerSource& source, const OpInterface& interface,
                                               const OpSpec& spec, const DeviceFacts& device, MeasureMode mode,
                                               const SpaceValues& space, const ConfigIds& failed, std::size_t most);

/// So many spares a source has for a spec on a device; the dims of `key` play no part.
[[nodiscard]] std::size_t count_spares(const WinnerSource& source, const ProblemKey& key, MeasureMode mode);

}  // namespace tilewright
