// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuner/app/place.hpp"
#include "tuner/report/table.hpp"

/// The parts found on this machine and their places, the faults, and the commands that mend them.
namespace tilewright::app {

struct DoctorResult {
  /// A row a part.
  Table table;
  /// Something can be tuned here, and kept.
  bool ready = false;
};

/// Never throws for what it finds.
[[nodiscard]] DoctorResult doctor(const Place& place);

}  // namespace tilewright::app
