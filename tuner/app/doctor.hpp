// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuner/app/place.hpp"
#include "tuner/report/table.hpp"

/// What is found on this machine and where, what is wrong, and what to type.
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
