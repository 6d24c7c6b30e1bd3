// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cache/serve/choose.hpp"

/// The expected time and loss of a config at a problem where it was not timed. Stateless functions.
namespace tilewright {

struct Expectation {
  /// The fastest config's time, fitted to the tuned shapes around (cache/predict/expected_time.hpp), plus the loss. If
  /// no loss or time is known there: the config's own elsewhere, its launch's share plus the rest by the dims' product.
  std::optional<double> time_ns;
  /// The loss against the fastest config there: 0.03 for 3 %; at least 0.
  std::optional<double> loss;
  /// The basis of both, in words.
  std::string basis;
};
/// The expectation of a choice of this source; nullopt for an exact fit, which was measured. Skips unreadable winners.
[[nodiscard]] std::optional<Expectation> expectation_of(const WinnerSource& source, const PlannedWinner& choice,
                                                        const Problem& problem);

/// The bytes of the problem's arguments, each read or written once.
[[nodiscard]] std::int64_t bytes_of(const OpInterface& interface, const Problem& problem);

}  // namespace tilewright
