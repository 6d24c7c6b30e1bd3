// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "tuner/device/device.hpp"

/// The time of an empty launch on a device (docs/measuring.md, "The floor"). It depends only on the device, so all
/// problems share the measurement. Belongs to the device's thread.
namespace tilewright {

class Floors {
 public:
  /// `device` must outlive it.
  explicit Floors(Device& device) : device_(device) {}

  /// Nanoseconds per launch in rounds of the largest power of two up to `launches`. Returns 0 and keeps nothing if
  /// interrupted before the first round. Throws DeviceError.
  [[nodiscard]] double ns(MeasureMode mode, int launches, const std::function<bool()>& interrupted);

 private:
  Device& device_;
  std::map<std::pair<MeasureMode, int>, double> known_;
};

}  // namespace tilewright
