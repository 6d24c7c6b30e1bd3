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

/// Spares: configs whose binaries are kept for untuned shapes. A binary with specialised dims serves one value of them,
/// and few winners have none. So shapes are drawn between and around the tuned ones, and configs are chosen that are
/// predicted to serve many of them well; then configs that were nearly the best at a tuned shape, which may be the best
/// of its neighbours. Measures nothing. Pure functions, for any thread.
namespace tilewright {

/// The values of each implementation's parameters, by its hash.
using SpaceValues = std::map<std::string, SeenValues>;

/// The parameter values of these shapes' configs.
[[nodiscard]] SpaceValues values_seen(const WinnerSource& source, const std::vector<ShapeSummary>& known);

struct Spare {
  /// Without specialised dims.
  ConfigId id;
  /// A problem that it serves.
  Problem serves;
  /// The tuned shape nearest to `serves`.
  ShapeDims home;
};

/// A config is nearly the best if the natural logarithm of its time over the fastest unspecialised one's is at most
/// this.
inline constexpr double kNearlyBest = 0.05;

/// A spare helps if it reduces the predicted loss at drawn shapes by at least this in the mean.
inline constexpr double kLeastHelp = 4e-5;

/// The most spares that `prepare` makes because drawn shapes are served poorly without them (kPoorLoss).
inline constexpr std::size_t kMostCovering = 64;

/// How many spares are chosen at most.
struct SpareCounts {
  /// Configs that help, the most helpful first.
  std::size_t helpful = 0;
  /// Configs that were nearly the best, those at most shapes first, make them this many together.
  std::size_t filled = 0;
  /// More, for drawn shapes that are served poorly without them.
  std::size_t covering = 0;
};

/// Configs that were nearly the best somewhere, with those shapes, the least loss first.
using NearlyBest = std::map<ConfigId, std::vector<ShapeDims>>;
/// Considers configs of the implementations in `space` that are not in `failed`: older sources can no longer be
/// compiled.
[[nodiscard]] NearlyBest nearly_best(const std::vector<ShapeSummary>& known, const SpaceValues& space,
                                     const ConfigIds& failed);
/// Removes winners and spares from `nearly`.
[[nodiscard]] NearlyBest not_kept(NearlyBest nearly, const std::vector<ShapeSummary>& known);

/// Chooses spares beside the binaries of winners and existing spares, helpful ones greedily, for shapes between and
/// around those of `range`. Excludes `failed` (Store::failed_configs). Empty if nothing is tuned. Deterministic.
[[nodiscard]] std::vector<Spare> choose_spares(const WinnerSource& source, const OpInterface& interface,
                                               const OpSpec& spec, const DeviceFacts& device, MeasureMode mode,
                                               const SpaceValues& space, const ConfigIds& failed,
                                               const std::vector<ShapeDims>& range, SpareCounts counts);

/// The number of spares a source has for a spec on a device. Ignores the dims of `key`.
[[nodiscard]] std::size_t count_spares(const WinnerSource& source, const ProblemKey& key, MeasureMode mode);

}  // namespace tilewright
