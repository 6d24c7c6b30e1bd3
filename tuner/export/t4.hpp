// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tuner/export/trial_records.hpp"

/// Trials in T4, the format for results that autotuners share (schema 1.0.0 of results and of metadata, in one file).
/// Problem, device, mode, status and reason stand among a result's measurements, where T4 allows texts. Times are
/// milliseconds, as its other writers have them.
namespace tilewright {

struct T4Counts {
  std::size_t results = 0;
  /// Configs that were never tried have no word in T4.
  std::size_t pruned = 0;
};

/// T4's word for what became of a config that was tried: "correct", "compile", "constraints", "correctness", "timeout"
/// or "runtime". Null for one that was pruned.
[[nodiscard]] const char* t4_invalidity(TrialStatus status) noexcept;

T4Counts write_t4(const TrialRecords& records, const Write& write);

}  // namespace tilewright
