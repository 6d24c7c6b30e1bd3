// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tuner/app/listener.hpp"
#include "tuner/app/place.hpp"
#include "tuner/report/gate_table.hpp"

/// Times what a gate suspects again: the binaries of both sides, in turns, on the device here.
namespace tilewright::app {

/// Replaces the trials of the suspects of a report that is judged, and says of each what became of it. `a` and `b` are
/// the sides, as open_side() takes them; their binaries run here. Throws DeviceError where no device can be opened;
/// whatever else goes wrong leaves a suspect as it was.
void time_again(GateReport& report, const Place& place, const std::string& a, const std::string& b, MeasureMode mode,
                Listener& listener);

}  // namespace tilewright::app
