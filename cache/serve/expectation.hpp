// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cache/serve/choose.hpp"

/// What is to be expected of a config at a problem that it was never timed on. Pure functions.
namespace tilewright {

struct Expectation {
  /// A launch's time, and what is above it by the product of the dims, from where it was timed, or else from the best
  /// there.
  std::optional<double> time_ns;
  /// How much slower than the fastest there is: 0.03 for 3 %.
  std::optional<double> loss;
  /// What both rest on, in words.
  std::string basis;
};
/// Nothing for an exact fit: it was measured.
[[nodiscard]] std::optional<Expectation> expectation_of(const PlannedWinner& choice, const Problem& problem);

/// Of the problem's arguments, each read or written once.
[[nodiscard]] std::int64_t bytes_of(const OpInterface& interface, const Problem& problem);

}  // namespace tilewright
