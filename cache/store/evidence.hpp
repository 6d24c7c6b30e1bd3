// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "cache/model/records.hpp"

/// Which of two caches' winners of a problem stays when the caches are merged. An order, so that the result does not
/// depend on that of merging; where it says equal, packs go by their hashes and an import keeps what is there.
namespace tilewright {

/// How often a winner is 3 % faster than the base timed beside it: ⌊log(base / median) / log 1.03⌋. Times of two sweeps
/// are of two GPUs or days, and differ by up to 3 % for the same code; over the base they compare. 0 if one is missing.
[[nodiscard]] std::int64_t speed_steps(std::optional<double> base_ns, std::optional<double> median_ns);

/// True if the winner `a` has better evidence than `b`: it has more speed steps; else its sweep reached more configs
/// that did not fail; else its trial has enough rounds for an interval (8) and the other's has not; else its 95 %
/// interval is narrower in relation to its median; else it is later. A trial without a time is no evidence. Needs the
/// rounds of both trials.
[[nodiscard]] bool better_evidence(const Winner& a, const Winner& b);

}  // namespace tilewright
