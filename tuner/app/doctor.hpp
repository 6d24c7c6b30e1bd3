// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuner/app/place.hpp"
#include "tuner/report/table.hpp"

/// The parts found on this machine and their places, the faults, and the commands that mend them.
namespace tilewright::app {

struct DoctorResult {
  /// One row for each part.
  Table table;
  /// Whether tuning can run here, and its results can be kept.
  bool ready = false;
};

/// Faults become rows, not exceptions.
[[nodiscard]] DoctorResult doctor(const Place& place);

}  // namespace tilewright::app
