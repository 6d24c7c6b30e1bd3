// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tuner/app/listener.hpp"
#include "tuner/app/place.hpp"
#include "tuner/report/gate_table.hpp"

/// Times the suspects of a gate again: the binaries of both sides, in turns, on the device of this machine.
namespace tilewright::app {

/// Replaces the trials of a judged report's suspects, and records the outcome of each. `a` and `b` are the sides, see
/// open_side(); their binaries run here. Throws DeviceError if no device can be opened; a suspect that cannot be timed
/// keeps its trials.
void time_again(GateReport& report, const Place& place, const std::string& a, const std::string& b, MeasureMode mode,
                Listener& listener);

}  // namespace tilewright::app
