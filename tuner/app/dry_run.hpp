// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tuner/app/sweep.hpp"

/// Forecasts the work and the duration of a sweep. Nothing is compiled, measured or written.
namespace tilewright::app {

/// The request's one device may be a device of the cache that is not here. nullopt if cancelled. Throws as sweep().
[[nodiscard]] std::optional<Table> forecast(const SweepProblems& request, Listener& listener);

}  // namespace tilewright::app
