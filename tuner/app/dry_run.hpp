// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tuner/app/sweep.hpp"

/// A sweep's work and its length, foretold. Nothing is compiled, measured or written.
namespace tilewright::app {

/// The one device of the request may be one of the cache that is not here. Nothing when cancelled. Throws as sweep().
[[nodiscard]] std::optional<Table> forecast(const SweepProblems& request, Listener& listener);

}  // namespace tilewright::app
