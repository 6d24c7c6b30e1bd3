// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tuner/export/trial_records.hpp"

/// Writes trials in T4, the format for results that autotuners share (schema 1.0.0 of results and of metadata, in one
/// file). Problem, device, mode, status and reason are among a result's measurements, where T4 allows texts. Times are
/// milliseconds, as in its other writers.
namespace tilewright {

struct T4Counts {
  std::size_t results = 0;
  /// Pruned configs: T4 has no word for them.
  std::size_t pruned = 0;
};

/// T4's word for the outcome of a tried config: "correct", "compile", "constraints", "correctness", "timeout" or
/// "runtime". Null for a pruned one.
[[nodiscard]] const char* t4_invalidity(TrialStatus status) noexcept;

T4Counts write_t4(const TrialRecords& records, const Write& write);

}  // namespace tilewright
