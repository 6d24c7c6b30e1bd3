// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/base/error.hpp"
#include "cache/model/records.hpp"
#include "tuner/device/device.hpp"

/// What a failed device call means for a trial and for the sweep.
namespace tilewright {

/// The device has stopped answering. Nothing can be measured until a new process opens it.
class DeviceLost : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// Touches the device's memory; false if it does not answer, as after an illegal access on a GPU.
[[nodiscard]] bool still_answers(Device& device);

/// The start of the reason if memory ran out while other processes held some.
inline constexpr const char* kBesideOthers = "beside other processes on the GPU: ";

/// Whether the failure says nothing about the config; the next sweep then tries again.
[[nodiscard]] bool may_pass(const Trial& trial) noexcept;

/// Describes the failure of an op's base, and its consequence.
[[nodiscard]] std::string base_failure(const Problem& problem, const Trial& trial);

/// `timed_out` if a launch exceeded its limit, `exceeds_limits` if the device refused to load or launch the config,
/// else `crashed`.
[[nodiscard]] TrialStatus status_of(const DeviceError& error);

}  // namespace tilewright
