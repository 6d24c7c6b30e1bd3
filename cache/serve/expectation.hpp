// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cache/serve/choose.hpp"

/// The time and loss expected of a config at a problem that it was never timed on. Functions without state.
namespace tilewright {

struct Expectation {
  /// The fastest's at the tuned shapes around, and its loss beside that; of a config whose loss is not known, from its
  /// own time elsewhere. From shape to shape a launch's share stays, and the rest goes by the product of the dims.
  std::optional<double> time_ns;
  /// How much slower than the fastest there is: 0.03 for 3 %; never less than 0.
  std::optional<double> loss;
  /// The basis of both, in words.
  std::string basis;
};
/// Of what this source serves; nothing for an exact fit: it was measured. Winners that cannot be read tell nothing.
[[nodiscard]] std::optional<Expectation> expectation_of(const WinnerSource& source, const PlannedWinner& choice,
                                                        const Problem& problem);

/// Of the problem's arguments, each read or written once.
[[nodiscard]] std::int64_t bytes_of(const OpInterface& interface, const Problem& problem);

}  // namespace tilewright
