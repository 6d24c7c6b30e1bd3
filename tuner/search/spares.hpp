// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "cache/combinations.hpp"
#include "cache/interface.hpp"
#include "cache/nearest.hpp"
#include "cache/winner_source.hpp"

/// Spares: configs whose binaries are worth having for shapes that nobody tuned. A binary with specialised dims serves one
/// value of them, and the winners without are few and fit their shapes; so shapes are drawn between and around those that
/// were tuned, and configs are taken that are expected (cache/nearest.hpp) to serve many of them well. Measures nothing.
namespace tilewright {

/// The values of each implementation's parameters, by its hash.
using SpaceValues = std::map<std::string, SeenValues>;

/// The values that some config of these shapes has.
[[nodiscard]] SpaceValues values_seen(const WinnerSource& source, const std::vector<KnownShape>& known);

struct Spare {
  std::string implementation_hash;
  /// Without specialised dims.
  Config config;
  /// A shape that it is legal for.
  Problem serves;
  /// The tuned shape nearest to that.
  ShapeDims home;
};

/// At most `most`, those first that help most beside what has a binary already: winners, and spares that there are. None
/// where nothing is tuned. Deterministic.
[[nodiscard]] std::vector<Spare> choose_spares(const WinnerSource& source, const OpInterface& interface,
                                               const OpSpec& spec, const DeviceFacts& device, MeasureMode mode,
                                               const SpaceValues& space, std::size_t most);

/// So many spares a source has for a spec on a device; the dims of `key` play no part.
[[nodiscard]] std::size_t count_spares(const WinnerSource& source, const ProblemKey& key, MeasureMode mode);

}  // namespace tilewright
