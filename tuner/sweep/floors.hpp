// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "tuner/device/device.hpp"

/// The time of a launch on a device when there is nothing to do (docs/measuring.md, "The floor"). It depends on the
/// device alone, so all problems on it share what was measured. Belongs to the device's thread.
namespace tilewright {

class Floors {
 public:
  /// `device` must outlive it.
  explicit Floors(Device& device) : device_(device) {}

  /// Nanoseconds of a launch in rounds of about so many: those of the power of two below. 0 when interrupted before the
  /// first round, which is not kept. Throws DeviceError.
  [[nodiscard]] double ns(MeasureMode mode, int launches, const std::function<bool()>& interrupted);

 private:
  Device& device_;
  std::map<std::pair<MeasureMode, int>, double> known_;
};

}  // namespace tilewright
