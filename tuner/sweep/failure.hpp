// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/base/error.hpp"
#include "cache/model/records.hpp"
#include "tuner/device/device.hpp"

/// The meaning of a failed device call for a trial and for the sweep.
namespace tilewright {

/// The device answers no more: nothing can be measured until a new process opens it.
class DeviceLost : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// Touches the device's memory; false when it answers no more, as after an illegal access on a GPU.
[[nodiscard]] bool still_answers(Device& device);

/// The beginning of a reason where memory ran out while other processes had some of it.
inline constexpr const char* kBesideOthers = "beside other processes on the GPU: ";

/// A failure that says nothing of its config: the next sweep tries again.
[[nodiscard]] bool may_pass(const Trial& trial) noexcept;

/// The text of an op's failed base, and what follows from it.
[[nodiscard]] std::string base_failure(const Problem& problem, const Trial& trial);

/// `timed_out` when a launch ran past its limit, `exceeds_limits` when the device refused to load or launch the config,
/// `crashed` for all else: what ran went wrong.
[[nodiscard]] TrialStatus status_of(const DeviceError& error);

}  // namespace tilewright
